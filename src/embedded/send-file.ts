/** Answers with a file: conditions, ranges and compression, by RFC 9110. */
import { closeSync } from 'node:fs'
import { type Awaitable, whenKnown } from '../core/awaitable.ts'
import { type Coding, codedTag, preferredCoding } from '../http/content-coding.ts'
import { type CompressedFiles, MAX_COMPRESSED_BYTES, MIN_COMPRESSED_BYTES } from './compressed-files.ts'
import { contentTypeOf, isCompressible } from './content-type.ts'
import { type FoundFile, readPart, reopened } from './look-up.ts'
import { preconditionFailed, rangeNotSatisfiable } from './pages.ts'
import { evaluate, matchesIfRange } from './preconditions.ts'
import { type ByteRange, readRange } from './range.ts'
import type { Reply } from './reply.ts'

/** A larger file is not read into memory: the kernel sends it from the disk as fast as the client takes it. */
const MAX_IN_MEMORY_BYTES = 64 * 1024

export type SendFile = ReturnType<typeof createSendFile>

/**
 * Makes the function that answers with a file, and closes it.
 *
 * `no-cache` makes clients ask each time whether their copy is current. Without it, browsers guess how long a copy stays fresh
 * and show an old page after a deployment.
 */
export function createSendFile(compressed: CompressedFiles) {
  /** @param name as in the path, for the media type */
  return function sendFile(request: Request, name: string, file: FoundFile): Awaitable<Reply> {
    closeLater(file)
    const range = request.method === 'GET' ? request.headers.get('range') : null
    const type = contentTypeOf(name)
    const isNegotiated = isCompressible(type) && isWorthwhile(file)
    // A range is always of the plain file: the compressed bytes could differ when the client asks for the rest.
    const coding = isNegotiated && range === null ? preferredCoding(request.headers.get('accept-encoding')) : undefined
    const plain = headersOf(file, type, isNegotiated)
    const coded = coding === undefined ? plain : { ...plain, etag: codedTag(file.etag, coding) }

    const status = evaluate(request, { etag: coded.etag, lastModifiedMs: file.lastModifiedMs })
    if (status === 412) return preconditionFailed
    if (status === 304) return { status, headers: withoutType(coded), body: new Uint8Array() }
    if (coding !== undefined) {
      const bytes = compressed.get(coded.etag, coding, () => readPart(file, 0, file.sizeBytes))
      if (bytes !== undefined) return whenKnown(bytes, (body) => codedReply(coded, coding, body))
    }
    const part = range !== null && matchesIfRange(request, file) ? readRange(range, file.sizeBytes) : undefined
    if (part === 'unsatisfiable') return rangeNotSatisfiable(file.sizeBytes)
    const headers = { ...plain, 'accept-ranges': 'bytes' }
    if (part === undefined) return { status: 200, headers, body: bodyOf(file) }
    return {
      status: 206,
      headers: { ...headers, 'content-range': `bytes ${part.first}-${part.last}/${file.sizeBytes}` },
      body: bodyOf(file, part),
    }
  }
}

/** Answers with a file in place of the requested one, such as `404.html`. It cannot be revalidated or resumed. */
export function sendInstead(status: number, name: string, file: FoundFile): Reply {
  closeLater(file)
  const headers = { 'content-type': contentTypeOf(name), 'cache-control': 'no-store' }
  return { status, headers, body: bodyOf(file) }
}

function headersOf(file: FoundFile, type: string, isNegotiated: boolean) {
  return {
    'content-type': type,
    'cache-control': 'no-cache',
    etag: file.etag,
    'last-modified': new Date(file.lastModifiedMs).toUTCString(),
    ...(isNegotiated && { vary: 'Accept-Encoding' }),
  }
}

function withoutType({ 'content-type': _, ...headers }: ReturnType<typeof headersOf>) {
  return headers
}

function codedReply(headers: ReturnType<typeof headersOf>, coding: Coding, body: Uint8Array): Reply {
  return { status: 200, headers: { ...headers, 'content-encoding': coding }, body }
}

function isWorthwhile({ sizeBytes }: FoundFile): boolean {
  return sizeBytes >= MIN_COMPRESSED_BYTES && sizeBytes <= MAX_COMPRESSED_BYTES
}

function bodyOf(file: FoundFile, range: ByteRange = { first: 0, last: file.sizeBytes - 1 }): Reply['body'] {
  const { first, last } = range
  const sizeBytes = last - first + 1
  if (sizeBytes <= MAX_IN_MEMORY_BYTES) return readPart(file, first, sizeBytes)
  return {
    sizeBytes,
    open() {
      const whole = Bun.file(reopened(file.descriptor))
      return sizeBytes === file.sizeBytes ? whole : whole.slice(first, last + 1)
    },
  }
}

/**
 * The runtime opens the file through our descriptor when it begins to send, before the event loop continues. Ours can be closed
 * after that. Given the descriptor itself (`Bun.file(descriptor)`), it would never close it.
 */
function closeLater({ descriptor }: FoundFile): void {
  setImmediate(closeSync, descriptor)
}
