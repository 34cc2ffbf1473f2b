/** Files of a backup: which there are, copied so that a crash leaves them whole, and recognised by their hash. */
import {
  chmodSync,
  closeSync,
  copyFileSync,
  createReadStream,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

export const DATABASE = 'ncp.db'
/** What SQLite keeps beside it. */
export const DATABASE_COMPANIONS = ['ncp.db-wal', 'ncp.db-shm']

const SAFE_PATH = /^(?:[\w-][\w.-]*\/)?[\w-][\w.-]*$/

/** Whether a path is a plain name, at most one directory down: the only ones that a backup holds. */
export function isSafePath(path: string): boolean {
  return SAFE_PATH.test(path)
}

/**
 * Besides the database: without `totp.key` every second factor would be lost, and without `jwt.key` every session.
 *
 * @returns paths below the data directory, of the files that are there
 */
export function companionFiles(directory: string): string[] {
  const tls = existsSync(join(directory, 'tls')) ? readdirSync(join(directory, 'tls')).map((name) => `tls/${name}`) : []
  return ['jwt.key', 'totp.key', 'initial-admin-password', ...tls].filter((name) => {
    const found = statSync(join(directory, name), { throwIfNoEntry: false })
    return isSafePath(name) && found?.isFile() === true
  })
}

/** Copies a file for its owner alone, making its directory where needed, and waits until it is on the disk. */
export function copyPrivately(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 })
  copyFileSync(from, to)
  chmodSync(to, 0o600)
  sync(to)
}

/** Waits until a file, or the names in a directory, are on the disk. */
export function sync(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** SHA-256 in hex, of a file of any size. */
export async function hashOfFile(path: string): Promise<string> {
  const hasher = new Bun.CryptoHasher('sha256')
  for await (const chunk of createReadStream(path)) hasher.update(chunk)
  return hasher.digest('hex')
}
