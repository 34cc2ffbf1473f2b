/** The files of a backup: which ones belong to it, crash-safe copying, and hashing. */
import {
  chmodSync,
  copyFileSync,
  createReadStream,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { dataNames, secretNames } from '../data-directory.ts'
import { sync } from '../system/sync.ts'

/** Besides the database. */
const SECRETS: string[] = [...secretNames, dataNames.initialAdminPassword]
const CERTIFICATE_FILE = /^tls\/[\w-][\w.-]*$/

/** Whether a backup may hold a file of this path. Any other could lead out of it, or replace what steers a restore. */
export function isBackupPath(path: string): boolean {
  return path === dataNames.database || SECRETS.includes(path) || CERTIFICATE_FILE.test(path)
}

/** @returns paths below the data directory, of the files besides the database that a backup holds and that are there */
export function companionFiles(directory: string): string[] {
  const tls = join(directory, dataNames.tls)
  const certificates = existsSync(tls) ? readdirSync(tls).map((name) => `${dataNames.tls}/${name}`) : []
  return [...SECRETS, ...certificates].filter((name) => {
    const found = statSync(join(directory, name), { throwIfNoEntry: false })
    return isBackupPath(name) && found?.isFile() === true
  })
}

/** Copies a file for its owner alone, making its directory where needed, and waits until it is on the disk. */
export function copyPrivately(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 })
  copyFileSync(from, to)
  chmodSync(to, 0o600)
  sync(to)
  sync(dirname(to))
}

/**
 * The size of a file below a directory that may be a stranger's work, where a pipe would block the reader and a
 * link could lead anywhere.
 *
 * @returns bytes; undefined where there is no such file, and 'irregular' for anything but a regular file in a real directory
 */
export function sizeOfRegularFile(directory: string, path: string): number | 'irregular' | undefined {
  const parent = lstatSync(join(directory, dirname(path)), { throwIfNoEntry: false })
  if (parent?.isDirectory() === false) return 'irregular'
  const found = lstatSync(join(directory, path), { throwIfNoEntry: false })
  if (!found) return undefined
  return found.isFile() ? found.size : 'irregular'
}

/** SHA-256 in hex, of a file of any size. @param onRead called with the bytes of each piece */
export async function hashOfFile(path: string, onRead: (bytes: number) => void = () => undefined): Promise<string> {
  const hasher = new Bun.CryptoHasher('sha256')
  for await (const chunk of createReadStream(path)) {
    hasher.update(chunk)
    onRead(chunk.length)
  }
  return hasher.digest('hex')
}
