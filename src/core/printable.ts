/** Makes foreign text safe to show: terminals obey control characters, and some characters reorder or hide text. */

/**
 * Control characters, line separators, halves of a surrogate pair, what reorders text (UAX #9) and what is invisible. Not the
 * joiners and selectors that scripts and emoji are written with.
 */
const UNPRINTABLE =
  /(?!\u200c|\u200d|\ufe0e|\ufe0f)[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]/gu

/** Each such character becomes the escape that JSON has for it, so that a document of JSON stays the same document. */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, escaped)
}

/** `printable`, except that lines and tabs stay. */
export function printableLines(text: string): string {
  return text.replaceAll(UNPRINTABLE, (character) => (/[\n\t]/.test(character) ? character : escaped(character)))
}

function escaped(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}
