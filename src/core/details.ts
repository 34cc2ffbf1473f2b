/** Keeps the details of what happened short, so that what a customer writes a thousand times cannot fill the disk. */

/** Never a secret: names, numbers and states that a reader needs to understand what changed. */
export type Details = { [name: string]: string | number | boolean | null | string[] }

/** Of one text. */
const MAX_CHARACTERS = 256
/** Of all texts in a list; the first is always included. */
const MAX_LIST_CHARACTERS = 400

/** @returns JSON with names in snake case; if a list is too long, `…_left_out` says how many items are missing */
export function writeDetails(details: Details): string {
  const written: Details = {}
  for (const [name, value] of Object.entries(details)) {
    if (!Array.isArray(value)) written[snakeCase(name)] = typeof value === 'string' ? cut(value) : value
    else {
      const told = firstOf(value)
      written[snakeCase(name)] = told
      if (told.length < value.length) written[`${snakeCase(name)}_left_out`] = value.length - told.length
    }
  }
  return JSON.stringify(written)
}

/** Everywhere outside, `maxSites` is `max_sites`. */
function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function cut(text: string): string {
  return text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS - 1)}…`
}

function firstOf(texts: string[]): string[] {
  let characters = 0
  const end = texts.findIndex((text, position) => {
    characters += text.length
    return position > 0 && characters > MAX_LIST_CHARACTERS
  })
  return texts.slice(0, end === -1 ? undefined : end).map(cut)
}
