/** Archives as customers make them: with GNU tar. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { newDirectory } from './directory.ts'

export type ArchiveFiles = Record<string, string | Uint8Array>

/** @throws Error with what tar says */
export function archiveOf(files: ArchiveFiles, { gzip = true }: { gzip?: boolean } = {}): Uint8Array<ArrayBuffer> {
  const directory = newDirectory('ncp-archive-')
  try {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(directory, path)), { recursive: true })
      writeFileSync(join(directory, path), content)
    }
    const { exitCode, stdout, stderr } = Bun.spawnSync(['tar', gzip ? '-cz' : '-c', '-C', directory, '.'])
    if (exitCode !== 0) throw new Error(`tar: ${stderr}`)
    return new Uint8Array(stdout)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

let smallest: Uint8Array<ArrayBuffer> | undefined

/** One page, for tests to which it does not matter what is deployed. */
export function smallArchive(): Uint8Array<ArrayBuffer> {
  smallest ??= archiveOf({ 'index.html': 'hello' })
  return smallest
}
