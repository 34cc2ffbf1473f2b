/** Tells the operator what to do about a database file that cannot be opened. */
import { codeOf } from '../../core/error-code.ts'
import { isFull, LostDiskError } from '../failures.ts'
import { isFailedSync } from './error-codes.ts'

/** @returns an error worded for the operator; other errors unchanged */
export function explainOpening(error: unknown, path: string): unknown {
  const code = codeOf(error) ?? ''
  const is = (...kinds: string[]) => kinds.some((kind) => code.startsWith(kind))
  const explained = (text: string) => new Error(text, { cause: error })
  if (error instanceof LostDiskError) return error
  if (isFailedSync(error)) return new LostDiskError(path, error)
  if (isFull(error)) return explained(`the disk is full: free some space for ${path}`)
  if (is('SQLITE_READONLY', 'EROFS', 'EACCES', 'EPERM')) {
    return explained(
      `${path} cannot be written (${code}): the data directory must belong to the user that the panel runs as`,
    )
  }
  if (is('SQLITE_CORRUPT', 'SQLITE_NOTADB')) {
    return explained(`${path} is damaged (${(error as Error).message}): restore a backup with 'ncp backup restore'`)
  }
  if (is('SQLITE_BUSY')) return explained(`${path} is locked by another program: stop that program first`)
  if (is('SQLITE_IOERR', 'SQLITE_CANTOPEN'))
    return explained(`${path} cannot be read or written (${code}): check the disk`)
  return error
}
