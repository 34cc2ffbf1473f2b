/** Reads the entries of a tar archive: ustar, pax, GNU and the old format before them. */
import { Readable } from 'node:stream'
import { extract, type Header } from 'tar-stream'
import type { Content, Entry } from './entry.ts'
import { Refusal } from './refusal.ts'

/** Names as bytes, since the library would replace what is not UTF-8; and the format before ustar. Options that it does not list. */
type Options = NonNullable<Parameters<typeof extract>[0]> & { filenameEncoding: 'latin1'; allowUnknownFormat: true }
const OPTIONS: Options = { filenameEncoding: 'latin1', allowUnknownFormat: true }

/** What its types do not tell: null is a type that it does not know; attributes are decoded as UTF-8 without strictness. */
type TarHeader = Omit<Header, 'type' | 'linkname' | 'pax'> & {
  type: Header['type'] | null
  linkname: string | null
  pax: Record<string, string> | null
}

/** An archive ends with two blocks of zeros; without them the rest of it may be missing. */
const END_BYTES = 1024
const EXECUTABLE = 0o111

/** @throws Refusal, and what `bytes` throws */
export async function* readTar(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Entry> {
  const tar = extract(OPTIONS)
  const end = createEndCheck()
  const source = Readable.from(end.watch(bytes), { objectMode: false })
  let failure: unknown
  let entries = 0
  source.on('error', (error) => {
    failure = error
    tar.destroy(error)
  })
  source.pipe(tar)

  const explained = (error: unknown): unknown => {
    if (error instanceof Refusal) return error
    if (failure !== undefined) return failure
    return entries === 0 ? new Refusal('archive_unknown', 'this is no archive in the tar format') : damaged()
  }
  async function* bodyOf(entry: AsyncIterable<unknown>) {
    try {
      yield* entry as AsyncIterable<Uint8Array>
    } catch (error) {
      throw explained(error)
    }
  }

  try {
    for await (const entry of tar) {
      entries += 1
      const header = entry.header as TarHeader
      const content = contentOf(header, bodyOf(entry))
      yield { name: textOf(header.name, header.pax?.path) ?? header.name, ...content }
      // A reader would wait for ever for a body that nobody takes.
      if (content.kind !== 'file') entry.resume()
    }
  } catch (error) {
    throw explained(error)
  } finally {
    source.destroy()
  }
  if (!end.isWhole()) throw damaged()
}

const damaged = () => new Refusal('archive_damaged', 'the archive is damaged or incomplete; create and upload it again')

function contentOf(header: TarHeader, body: AsyncIterable<Uint8Array>): Content {
  const { name, linkname, type, mode, pax } = header
  if (textOf(name, pax?.path) === undefined) return invalid('the name is not valid UTF-8')
  if (pax && Object.keys(pax).some((key) => /^(GNU\.sparse\.|SCHILY\.realsize$)/.test(key)))
    return refused('a sparse file')
  const executable = (mode & EXECUTABLE) !== 0
  switch (type) {
    case 'file':
    case 'contiguous-file':
      return { kind: 'file', executable, body }
    case 'directory':
      return { kind: 'directory' }
    case 'symlink':
    case 'link': {
      const target = textOf(linkname ?? '', pax?.linkpath)
      if (target === undefined) return invalid('the target of the link is not valid UTF-8')
      return type === 'link' ? { kind: 'hard-link', target, executable } : { kind: 'symlink', target }
    }
    case 'character-device':
    case 'block-device':
      return refused('a device')
    case 'fifo':
      return refused('a named pipe')
    default:
      return refused('a sparse file or something else that is neither a file, a folder nor a link')
  }
}

const refused = (what: string): Content => ({ kind: 'refused', code: 'type_refused', reason: `this is ${what}` })
const invalid = (reason: string): Content => ({ kind: 'refused', code: 'name_invalid', reason })

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * @param bytes each as one character
 * @param attribute what a pax header has instead; the library has decoded it, and put U+FFFD for what is not UTF-8
 * @returns undefined where it is not UTF-8
 */
function textOf(bytes: string, attribute: string | undefined): string | undefined {
  if (attribute) return attribute.includes('\ufffd') ? undefined : attribute
  try {
    return utf8.decode(Buffer.from(bytes, 'latin1'))
  } catch {
    return undefined
  }
}

/** Looks at the end of what passes. The library is content with an archive that was cut between two entries. */
function createEndCheck() {
  let zeros = 0

  return {
    async *watch(bytes: AsyncIterable<Uint8Array>) {
      for await (const chunk of bytes) {
        const tail = chunk.subarray(-END_BYTES)
        const last = tail.findLastIndex((byte) => byte !== 0)
        zeros = last === -1 ? zeros + tail.length : tail.length - 1 - last
        yield chunk
      }
    },
    isWhole: () => zeros >= END_BYTES,
  }
}
