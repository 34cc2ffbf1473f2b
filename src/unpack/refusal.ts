/** The reason that an archive is not unpacked, and the sentence about it. */
import { codeOf } from '../core/error-code.ts'
import { printable } from '../core/printable.ts'
import type { FailureCode, NotUnpacked } from './result.ts'

/** Where in the archive something is wrong. */
export type Place = {
  /** The number of the entry, from 1. */
  line: number
  name: string
}

/** Its message is a clause for customers that goes on after the name of the entry: "the link leads outside the archive". */
export class Refusal extends Error {
  readonly code: FailureCode
  readonly place: Place | undefined

  constructor(code: FailureCode, message: string, place?: Place) {
    super(message)
    this.name = 'Refusal'
    this.code = code
    this.place = place
  }
}

const SHOWN_CHARACTERS = 200

/** A name as it can be shown: printable, and cut. */
function shownName(name: string): string {
  const characters = [...printable(name.slice(0, SHOWN_CHARACTERS * 2))]
  if (characters.length <= SHOWN_CHARACTERS && name.length <= SHOWN_CHARACTERS * 2) return characters.join('')
  return `${characters.slice(0, SHOWN_CHARACTERS).join('')}…`
}

/**
 * @param error what ended the work
 * @param at the entry that was read, for an error that does not say where it happened
 */
export function notUnpacked(error: unknown, at: Place | undefined): NotUnpacked {
  const { code, message, place = at } = error instanceof Refusal ? error : ofSystem(error)
  if (!place) return { ok: false, code, entry: null, line: null, message }
  const entry = shownName(place.name)
  return {
    ok: false,
    code,
    entry,
    line: place.line,
    message: `entry ${place.line}${entry && `, ${entry}`}: ${message}`,
  }
}

function ofSystem(error: unknown): Refusal {
  const code = codeOf(error)
  if (code === 'ENOSPC' || code === 'EDQUOT') return new Refusal('disk_full', 'there is no room left on the disk')
  return new Refusal('unpack_failed', `this could not be written (${code ?? 'unexpected error'})`)
}
