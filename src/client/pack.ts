/** Packs a project into a `.tar.gz`, as a stream: memory stays flat, and nothing is left behind whatever happens. */
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream, lstatSync, mkdtempSync, openSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { type Pack, pack } from 'tar-stream'
import type { FileToPack } from './files.ts'

export type PackedArchive = {
  /** Of a file without a name, which is gone when this process is. It is open as long as this process runs. */
  descriptor: number
  bytes: number
  sha256: string
  files: number
}

/** @param tell after each file, how many are packed. @throws Error for a file that cannot be read, or changes while it is */
export async function packFiles(
  directory: string,
  files: readonly FileToPack[],
  tell: (packed: number) => void,
): Promise<PackedArchive> {
  const descriptor = openNameless()
  const hash = createHash('sha256')
  let bytes = 0
  const counted = new Transform({
    transform(chunk: Buffer, _, done) {
      hash.update(chunk)
      bytes += chunk.length
      done(null, chunk)
    },
  })
  const tar = pack()
  const written = pipeline(tar, createGzip(), counted, createWriteStream('', { fd: descriptor, autoClose: false }))
  // Heard below, also when a file fails first.
  written.catch(() => undefined)
  try {
    for (const [index, file] of files.entries()) {
      await add(tar, directory, file)
      tell(index + 1)
    }
    tar.finalize()
  } catch (error) {
    tar.destroy()
    throw error
  }
  await written
  return { descriptor, bytes, sha256: hash.digest('hex'), files: files.filter(({ kind }) => kind === 'file').length }
}

/** Of its own, since a deployment may be larger than what /tmp in memory should hold in another's name. */
function openNameless(): number {
  const directory = mkdtempSync(join(tmpdir(), 'ncp-deploy-'))
  try {
    return openSync(join(directory, 'archive.tar.gz'), 'wx+', 0o600)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

async function add(tar: Pack, directory: string, { path, kind }: FileToPack): Promise<void> {
  const source = join(directory, path)
  const { mtime, mode, size } = lstatSync(source)
  if (kind === 'directory') return addEntry(tar, { name: path, type: 'directory', mode: 0o755, mtime })
  if (kind === 'symlink') return addEntry(tar, { name: path, type: 'symlink', linkname: readlinkSync(source), mtime })
  const isExecutable = (mode & 0o111) !== 0
  await pipeline(createReadStream(source), tar.entry({ name: path, size, mtime, mode: isExecutable ? 0o755 : 0o644 }))
}

function addEntry(tar: Pack, header: Parameters<Pack['entry']>[0]): Promise<void> {
  return new Promise((resolve, reject) => {
    tar.entry(header, (error) => (error ? reject(error) : resolve()))
  })
}
