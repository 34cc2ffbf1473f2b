/** Evaluates the conditions of a request for a file (RFC 9110 §13.2.2). */
import { matchesTag } from '../http/conditional.ts'

export type Validators = {
  /** Of the representation that would be sent. */
  etag: string
  /** Milliseconds since the epoch, in whole seconds. */
  lastModifiedMs: number
}

/**
 * Evaluates the conditions in the order of the standard.
 *
 * @returns 304 when the client's copy is current, 412 when it wants another version than there is
 */
export function evaluate({ headers }: Request, validators: Validators): 200 | 304 | 412 {
  const ifMatch = headers.get('if-match')
  const ifUnmodifiedSince = headers.get('if-unmodified-since')
  if (ifMatch !== null) {
    if (!matchesStrongly(ifMatch, validators.etag)) return 412
  } else if (ifUnmodifiedSince !== null && validators.lastModifiedMs > Date.parse(ifUnmodifiedSince)) return 412

  const ifNoneMatch = headers.get('if-none-match')
  // The tag of another coding counts too: that copy is just as current.
  if (ifNoneMatch !== null) return matchesTag(ifNoneMatch, baseOf(validators.etag)) ? 304 : 200
  return isSameDate(headers.get('if-modified-since'), validators) ? 304 : 200
}

/** Whether a range can complete the client's partial copy (RFC 9110 §13.1.5). */
export function matchesIfRange({ headers }: Request, validators: Validators): boolean {
  const condition = headers.get('if-range')
  if (condition === null) return true
  return condition.includes('"') ? condition === validators.etag : isSameDate(condition, validators)
}

/**
 * Dates must be equal, as in nginx: after a rollback, a file is older than the client's copy and still differs from it.
 */
function isSameDate(date: string | null, { lastModifiedMs }: Validators): boolean {
  return date !== null && Date.parse(date) === lastModifiedMs
}

function matchesStrongly(condition: string, etag: string): boolean {
  return condition === '*' || condition.split(',').some((candidate) => candidate.trim() === etag)
}

/** The tag without the suffix of `codedTag`. */
const baseOf = (etag: string) => etag.replace(/-(?:br|gzip)"$/, '"')
