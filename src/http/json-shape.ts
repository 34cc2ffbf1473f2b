/** Bounds the shape of a JSON body in one pass over its text, before any schema sees it. */
import { AppError } from '../core/errors.ts'

/** Levels of objects and arrays; our deepest body has five. */
const MAX_DEPTH = 16
/** Names in one object; our widest body has fewer than twenty. */
const MAX_NAMES = 64
/** Items in all arrays of a body, together, unless its route takes more. */
const MAX_ITEMS = 1000

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const COMMA = 0x2c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d

/**
 * Refuses shapes that none of our requests have, because explaining every mistake in them would cost the others time: a
 * body of 64 KiB has room for 32,000. Refuses duplicate names as well (RFC 8259 §4): JSON.parse takes the last of two,
 * another parser the first, and two programs must not read a request differently.
 *
 * @param text JSON that has been parsed successfully, so its strings and brackets can be trusted
 * @throws AppError `bad_request`
 */
export function requireModestShape(text: string, maxItems = MAX_ITEMS): void {
  /** The names of each open object; undefined for an open array. */
  const open: (Set<string> | undefined)[] = []
  let items = 0
  let lastString = ''
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(text, at)
        lastString = text.slice(at, end)
        at = end - 1
        break
      }
      case OPEN_BRACE:
        open.push(new Set())
        break
      case OPEN_BRACKET:
        open.push(undefined)
        // An empty item counts too: a body can hold more of those than of anything else.
        items++
        break
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        open.pop()
        break
      case COMMA:
        if (open.at(-1) === undefined) items++
        break
      case COLON:
        addName(open.at(-1), lastString)
        break
    }
    if (open.length > MAX_DEPTH) throw tooMuch(`The body is nested too deeply: at most ${MAX_DEPTH} levels`)
    if (items > maxItems) throw tooMuch(`The arrays of the body hold too many items: at most ${maxItems} in all`)
  }
}

/** @param string with its quotes, as written in the text */
function addName(names: Set<string> | undefined, string: string): void {
  if (!names) return
  const name: string = string.includes('\\') ? JSON.parse(string) : string.slice(1, -1)
  if (names.has(name)) throw tooMuch('The body names a field twice')
  names.add(name)
  if (names.size > MAX_NAMES) throw tooMuch(`An object in the body has too many fields: at most ${MAX_NAMES}`)
}

/** @returns the index after the closing quote */
function endOfString(text: string, start: number): number {
  let at = start + 1
  while (text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1
  return at + 1
}

const tooMuch = (message: string) => new AppError('bad_request', message)
