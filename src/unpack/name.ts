/** Which names of entries may become paths of a release, and which path each becomes. */
import { Refusal } from './refusal.ts'

/** NAME_MAX of Linux. */
const MAX_PART_BYTES = 255
/** PATH_MAX of Linux, with the NUL at the end. */
const MAX_PATH_BYTES = 4096
const MAX_DEPTH = 64

/**
 * Leading and inner `./`, doubled slashes and a slash at the end mean nothing; everything else stays as it is.
 *
 * @param base bytes of the release's own path, so that every file can also be reached by its whole path
 * @returns the parts of a path below the release; none for the release itself, as in `./`
 * @throws Refusal
 */
export function partsOf(name: string, base: number): string[] {
  if (name === '') throw invalid('the name is empty')
  if (name.includes('\0')) throw invalid('the name has a NUL byte in it')
  if (/\p{Cc}/u.test(name)) throw invalid('the name has a control character in it, such as a line break')
  if (/\p{Cs}/u.test(name)) throw invalid('the name is not valid Unicode')
  if (name.startsWith('/')) throw invalid('the name begins with "/"; names in an archive are relative')
  const parts = name.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.includes('..')) throw invalid('the name has ".." in it, which would lead outside the archive')
  if (parts.length > MAX_DEPTH) throw invalid(`the name is deeper than ${MAX_DEPTH} folders`)
  if (parts.some((part) => Buffer.byteLength(part) > MAX_PART_BYTES)) {
    throw invalid(`a part of the name is longer than ${MAX_PART_BYTES} bytes`)
  }
  if (base + 1 + Buffer.byteLength(parts.join('/')) >= MAX_PATH_BYTES) throw invalid('the name is too long')
  return parts
}

const invalid = (message: string) => new Refusal('name_invalid', message)
