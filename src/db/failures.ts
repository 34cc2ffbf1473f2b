/** What can go wrong beneath the database, told apart from what is wrong with a request, and in words for the operator. */

import { codeOf } from '../core/error-code.ts'
import { AppError } from '../core/errors.ts'

/** The beginnings of codes, SQLite's and the system's: of a disk, a file system or a file, and not of a query. */
const STORAGE = [
  'EIO',
  'ENOSPC',
  'EDQUOT',
  'EROFS',
  'SQLITE_FULL',
  'SQLITE_IOERR',
  'SQLITE_READONLY',
  'SQLITE_CORRUPT',
  'SQLITE_NOTADB',
  'SQLITE_CANTOPEN',
]

/** Whether the database could not be read or written. It may pass, and is nobody's mistake who asks. */
export function isStorageFailure(error: unknown): boolean {
  const code = codeOf(error) ?? ''
  return code.startsWith('SQLITE_BUSY') || STORAGE.some((kind) => code.startsWith(kind))
}

/** Whether the same may work in a while: the disk has room again, or whoever kept the lock has let go of it. */
export function isPassing(error: unknown): boolean {
  return isStorageFailure(error) || (error instanceof AppError && error.code === 'unavailable')
}

/** Says what the operator can do about a database that can't be opened. Other errors stay as they are. */
export function explainOpening(error: unknown, path: string): unknown {
  const code = codeOf(error) ?? ''
  const is = (...kinds: string[]) => kinds.some((kind) => code.startsWith(kind))
  const explained = (text: string) => new Error(text, { cause: error })
  if (is('SQLITE_FULL', 'ENOSPC')) return explained(`the disk is full: make room for ${path}`)
  if (is('SQLITE_READONLY', 'EROFS', 'EACCES', 'EPERM')) {
    return explained(
      `${path} can't be written (${code}): the panel writes to its data directory, which must be its own`,
    )
  }
  if (is('SQLITE_CORRUPT', 'SQLITE_NOTADB')) {
    return explained(`${path} is damaged (${(error as Error).message}): restore a backup with 'ncp backup restore'`)
  }
  if (is('SQLITE_BUSY')) return explained(`${path} is locked by another program: end that one first`)
  if (is('SQLITE_IOERR', 'SQLITE_CANTOPEN'))
    return explained(`${path} can't be read or written (${code}): look at the disk`)
  return error
}
