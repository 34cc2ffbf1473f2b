/** Opens an archive by its first bytes, whatever it is called, and gives its entries. */
import { createReadStream } from 'node:fs'
import { codeOf } from '../core/error-code.ts'
import type { Entry } from './entry.ts'
import type { Budget } from './limits.ts'
import { Refusal } from './refusal.ts'
import { readTar } from './tar.ts'

type Bytes = AsyncIterable<Uint8Array>
type Format = {
  name: string
  /** The first bytes of a file. */
  magic: string
  read?: (bytes: Bytes, budget: Budget) => AsyncIterable<Entry>
  /** For one that is not read from its beginning on. */
  readAt?: (archive: number, budget: Budget) => AsyncIterable<Entry>
}

/** Longest first bytes of all formats. */
const MAGIC_BYTES = 6

const formats: readonly Format[] = [
  { name: 'gzip', magic: '\x1f\x8b', read: (bytes, budget) => readTar(counted(gunzip(bytes), budget)) },
  { name: 'zip', magic: 'PK\x03\x04', readAt: readZipLater },
  { name: 'zip', magic: 'PK\x05\x06', readAt: readZipLater },
  { name: 'a part of a zip', magic: 'PK' },
  { name: 'bzip2', magic: 'BZh' },
  { name: 'xz', magic: '\xfd7zXZ\0' },
  { name: 'zstd', magic: '\x28\xb5\x2f\xfd' },
  { name: '7-Zip', magic: '7z\xbc\xaf\x27\x1c' },
  // A tar archive begins with a name, which may be any.
  { name: 'tar', magic: '', read: (bytes, budget) => readTar(counted(bytes, budget)) },
]

/**
 * @param archive a descriptor, read from where it stands; that of a zip archive, whose list is at its end, by position
 * @throws Refusal, Error of the system
 */
export async function* entriesOf(archive: number, budget: Budget): AsyncGenerator<Entry> {
  const bytes = createReadStream('', { fd: archive, autoClose: false })[Symbol.asyncIterator]()
  const first: Uint8Array[] = []
  let length = 0
  while (length < MAGIC_BYTES) {
    const { done, value } = await bytes.next()
    if (done) break
    first.push(value)
    length += value.length
  }
  if (length === 0) throw new Refusal('archive_unknown', 'the archive is empty')
  const head = Buffer.concat(first)
  const start = head.toString('latin1', 0, MAGIC_BYTES)
  const format = formats.find(({ magic }) => start.startsWith(magic))
  if (format?.readAt) {
    await bytes.return?.()
    return yield* format.readAt(archive, budget)
  }
  if (!format?.read) {
    throw new Refusal('archive_unknown', `${format?.name} archives are not taken; send a .tar.gz, .tar or .zip`)
  }
  yield* format.read(joined(head, bytes), budget)
}

/** Loaded when it is needed: the child is there sooner without it. */
async function* readZipLater(archive: number, budget: Budget): AsyncGenerator<Entry> {
  const { readZip } = await import('./zip.ts')
  yield* readZip(archive, budget)
}

async function* joined(head: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield head
  yield* { [Symbol.asyncIterator]: () => rest }
}

async function* counted(bytes: Bytes, budget: Budget): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    budget.spendStream(chunk.length)
    yield chunk
  }
}

/** One member or several, with nothing after them, not even zeros. @throws Refusal, and what `bytes` throws */
async function* gunzip(bytes: Bytes): AsyncGenerator<Uint8Array> {
  try {
    yield* streamOf(bytes).pipeThrough(new DecompressionStream('gzip'))
  } catch (error) {
    // An error of the system, in reading the archive.
    if (codeOf(error) !== undefined) throw error
    throw new Refusal('archive_damaged', 'the compressed archive is damaged or incomplete; create and upload it again')
  }
}

function streamOf(bytes: Bytes): ReadableStream<Uint8Array<ArrayBuffer>> {
  const chunks = bytes[Symbol.asyncIterator]()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next()
      if (done) controller.close()
      else controller.enqueue(value as Uint8Array<ArrayBuffer>)
    },
  })
}
