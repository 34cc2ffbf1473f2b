/** Reads the entries of a zip archive by its central directory, the one list in it that counts. */
import { readSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { fromFdPromise, type Entry as ZipEntry, type ZipFile } from 'yauzl'
import { codeOf } from '../core/error-code.ts'
import type { Content, Entry } from './entry.ts'
import type { Budget } from './limits.ts'
import { type Place, Refusal } from './refusal.ts'

/** APPNOTE 4.4.2.2: of attributes. Those of macOS are Unix's too. */
const UNIX = new Set([3, 19])
/** `st_mode`. */
const TYPE = 0o170000
const DIRECTORY = 0o040000
const FILE = 0o100000
const LINK = 0o120000
const EXECUTABLE = 0o111
/** APPNOTE 4.4.5: compression methods. */
const STORED = 0
const DEFLATED = 8
/** PATH_MAX of Linux. */
const MAX_TARGET_BYTES = 4096
/** What an entry without contents costs in a tar archive. */
const HEADER_BYTES = 512
/** What may follow the last entry of the list: its end, in either size, or a signature (APPNOTE 4.3). */
const ENDS = new Set([0x06054b50, 0x06064b50, 0x05054b50])

/**
 * @param archive a descriptor of a file, which is read by position
 * @throws Refusal, Error of the system
 */
export async function* readZip(archive: number, budget: Budget): AsyncGenerator<Entry> {
  try {
    // Names as bytes: the library would guess an encoding, and change what it does not like.
    const zip = await fromFdPromise(archive, { decodeStrings: false, autoClose: false })
    let line = 0
    for await (const entry of zip.eachEntry()) {
      budget.spendStream(HEADER_BYTES)
      const raw = entry.fileNameRaw as Buffer
      const text = textOf(raw)
      const name = text ?? raw.toString('latin1')
      line += 1
      yield { name, ...(await contentOf(zip, entry, text, budget).catch(blaming({ line, name }))) }
    }
    requireEnd(zip, archive)
  } catch (error) {
    throw explained(error)
  }
}

async function contentOf(zip: ZipFile, entry: ZipEntry, name: string | undefined, budget: Budget): Promise<Content> {
  if (name === undefined) return invalid('the name is not valid UTF-8')
  if (name.includes('\\')) return invalid('the name has a backslash in it; folders in an archive are divided by "/"')
  if (entry.isEncrypted()) return refused('this is encrypted')
  if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED) {
    return refused('this is compressed by a method that is not taken; create the archive with "deflate"')
  }
  const local = await zip.readLocalFileHeaderPromise(entry, { minimal: false })
  if (!local.fileName.equals(entry.fileNameRaw as Buffer)) return invalid('the archive has two names for this entry')

  const mode = UNIX.has(entry.versionMadeBy >> 8) ? entry.externalFileAttributes >>> 16 : 0
  const isDirectory = name.endsWith('/')
  switch (mode & TYPE) {
    case 0:
    case FILE:
    case DIRECTORY: {
      if (!isDirectory && (mode & TYPE) !== DIRECTORY) {
        return { kind: 'file', executable: (mode & EXECUTABLE) !== 0, body: bodyOf(zip, entry, budget) }
      }
      return entry.uncompressedSize === 0 ? { kind: 'directory' } : refused('this is a folder with contents of a file')
    }
    case LINK: {
      if (entry.uncompressedSize > MAX_TARGET_BYTES) return refused('this is a link with a target that is too long')
      const chunks = await Array.fromAsync(bodyOf(zip, entry, budget))
      const target = textOf(Buffer.concat(chunks))
      return target === undefined ? invalid('the target of the link is not valid UTF-8') : { kind: 'symlink', target }
    }
    default:
      return refused('this is a device, a named pipe or something else that is neither a file, a folder nor a link')
  }
}

/** The library checks the length; the sum is checked here. */
async function* bodyOf(zip: ZipFile, entry: ZipEntry, budget: Budget): AsyncGenerator<Uint8Array> {
  let sum = 0
  try {
    for await (const chunk of await zip.openReadStreamPromise(entry)) {
      budget.spendStream(chunk.length)
      sum = crc32(chunk, sum)
      yield chunk
    }
  } catch (error) {
    throw explained(error)
  }
  if (sum !== entry.crc32) throw damaged()
}

/** The number of entries is a field of 16 bits, and a wrong one would leave out the rest. @throws Refusal */
function requireEnd({ readEntryCursor }: ZipFile, archive: number): void {
  const next = Buffer.alloc(4)
  // Its types have it as true or false.
  readSync(archive, next, 0, next.length, Number(readEntryCursor))
  if (!ENDS.has(next.readUInt32LE())) throw damaged()
}

/** What the library throws is about the archive, unless the system or a limit is behind it. */
function explained(error: unknown): unknown {
  const code = codeOf(error)
  const isOfSystem = code !== undefined && !code.startsWith('Z_') && !code.startsWith('ERR_')
  return error instanceof Refusal || isOfSystem ? error : damaged()
}

/** The caller knows an entry only once it has it. */
const blaming = (place: Place) => (error: unknown) => {
  const reason = explained(error)
  throw reason instanceof Refusal ? new Refusal(reason.code, reason.message, place) : reason
}

const damaged = () => new Refusal('archive_damaged', 'the archive is damaged or incomplete; create and upload it again')
const refused = (reason: string): Content => ({ kind: 'refused', code: 'type_refused', reason })
const invalid = (reason: string): Content => ({ kind: 'refused', code: 'name_invalid', reason })

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** @returns undefined where it is not UTF-8 */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}
