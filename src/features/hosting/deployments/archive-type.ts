/** Tells an archive by its first bytes, whatever its name and media type: what is refused here never waits for a node. */
import { AppError } from '../../../core/errors.ts'

/** A header of tar. */
export const SNIFFED_BYTES = 512

/** Offset and length of the checksum in a header of tar. */
const CHECKSUM = { start: 148, end: 156 } as const
const SPACE = 0x20

/** @param head the first 512 bytes, or all there are. @throws AppError `validation_error` */
export function requireArchive(head: Uint8Array): void {
  if (isGzip(head) || isZip(head) || isTar(head)) return
  throw new AppError('validation_error', 'body: is not a .tar.gz, .tar or .zip archive')
}

/** RFC 1952 §2.3.1; deflate is the one method there is. */
const isGzip = ([first, second, method]: Uint8Array) => first === 0x1f && second === 0x8b && method === 8

/** The header of its first entry (APPNOTE 4.3.7), or the end of one without entries. */
const isZip = (head: Uint8Array) =>
  ['PK\x03\x04', 'PK\x05\x06'].includes(Buffer.from(head.subarray(0, 4)).toString('latin1'))

/** By the checksum of the first header, which the oldest tar has too (POSIX.1-2024, pax: ustar interchange format). */
function isTar(head: Uint8Array): boolean {
  if (head.length < SNIFFED_BYTES) return false
  const written = Buffer.from(head.subarray(CHECKSUM.start, CHECKSUM.end)).toString('latin1')
  const [digits] = /[0-7]+/.exec(written) ?? []
  const sum = head.reduce((sum, byte, at) => sum + (at >= CHECKSUM.start && at < CHECKSUM.end ? SPACE : byte), 0)
  return digits !== undefined && Number.parseInt(digits, 8) === sum
}
