/** Reads which part of a file a request asks for (RFC 9110 §14). */

/** Of bytes, both counted from 0 and inclusive. */
export type ByteRange = { first: number; last: number }

/** A single range. Several get the whole file, which the standard allows: browsers and download tools do not need them. */
const RANGE = /^bytes=\s*(\d*)-(\d*)\s*$/i

/**
 * @param range the Range header
 * @returns undefined for the whole file, also for a header with invalid syntax
 */
export function readRange(range: string, sizeBytes: number): ByteRange | 'unsatisfiable' | undefined {
  const [, from = '', to = ''] = RANGE.exec(range) ?? []
  if (from === '') return to === '' ? undefined : lastBytes(Number(to), sizeBytes)
  const first = Number(from)
  const last = to === '' ? sizeBytes - 1 : Math.min(Number(to), sizeBytes - 1)
  if (to !== '' && Number(to) < first) return undefined
  return first < sizeBytes ? { first, last } : 'unsatisfiable'
}

function lastBytes(length: number, sizeBytes: number): ByteRange | 'unsatisfiable' | undefined {
  if (length === 0) return 'unsatisfiable'
  // Content-Range cannot describe an empty range, so an empty file is sent whole.
  return sizeBytes === 0 ? undefined : { first: Math.max(0, sizeBytes - length), last: sizeBytes - 1 }
}
