/** The files of a project that go into a deployment. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import ignore from 'ignore'
import { codeOf } from '../core/error-code.ts'
import { ClientFailure } from './failures.ts'

export const IGNORE_FILE = '.ncpignore'

/** What no site needs and visitors must not see. A `!` line in .ncpignore, or `--include`, takes it back. */
export const LEFT_OUT = [
  '.git',
  '.hg',
  '.svn',
  'node_modules',
  '.env*',
  '.ncpignore',
  '.ssh',
  '.npmrc',
  '.netrc',
  '.htpasswd',
  '*.pem',
  '*.key',
  '*.p12',
  '*.pfx',
  '*.jks',
  '*.kdbx',
  'id_rsa*',
  'id_dsa*',
  'id_ecdsa*',
  'id_ed25519*',
] as const

export type FileToPack = { path: string; kind: 'file' | 'directory' | 'symlink' }

/**
 * In the order of their names, so that the same files make the same archive.
 *
 * @param include patterns, as in .gitignore, of what is left out otherwise
 * @returns paths below the directory, with `/`
 * @throws ClientFailure `configuration` for what is no directory, for a socket or a device in it, and where no file is left
 */
export function filesOf(directory: string, include: readonly string[]): FileToPack[] {
  if (!statSync(directory).isDirectory()) throw new ClientFailure('configuration', `${directory} is not a directory`)
  const rules = ignore()
    .add([...LEFT_OUT])
    .add(readIgnoreFile(directory))
    .add(include.map((pattern) => `!${pattern}`))
  const found: FileToPack[] = []
  const walk = (below: string) => {
    const entries = readdirSync(join(directory, below), { withFileTypes: true })
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = below + entry.name
      if (rules.ignores(entry.isDirectory() ? `${path}/` : path)) continue
      if (entry.isDirectory()) {
        found.push({ path, kind: 'directory' })
        walk(`${path}/`)
      } else if (entry.isFile() || entry.isSymbolicLink()) {
        found.push({ path, kind: entry.isFile() ? 'file' : 'symlink' })
      } else {
        throw new ClientFailure('configuration', `${join(directory, path)} is neither a file nor a link; leave it out`)
      }
    }
  }
  walk('')
  if (!found.some(({ kind }) => kind === 'file')) {
    throw new ClientFailure('configuration', `${directory} has no file to deploy`)
  }
  return found
}

function readIgnoreFile(directory: string): string {
  try {
    return readFileSync(join(directory, IGNORE_FILE), 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return ''
    throw error
  }
}
