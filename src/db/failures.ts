/** What can go wrong beneath the database, told apart from what is wrong with a request, and in words for caller and operator. */

import { codeOf } from '../core/error-code.ts'
import { AppError } from '../core/errors.ts'

/** The beginnings of codes, SQLite's and the system's: of a disk, a file system or a file, and not of a query. */
const FULL = ['ENOSPC', 'EDQUOT', 'SQLITE_FULL']
const STORAGE = [
  ...FULL,
  'EIO',
  'EROFS',
  'SQLITE_IOERR',
  'SQLITE_READONLY',
  'SQLITE_CORRUPT',
  'SQLITE_NOTADB',
  'SQLITE_CANTOPEN',
]
/** Of a file, and of the directory that names it. */
const FAILED_SYNC = ['SQLITE_IOERR_FSYNC', 'SQLITE_IOERR_DIR_FSYNC']

/** A disk is not mended in a moment. */
const RETRY_SECONDS = 30
const BUSY_RETRY_SECONDS = 2

/** The disk did not keep what was written, nor when it was written again: the process has to end without touching its files. */
export class LostDiskError extends Error {
  constructor(path: string, cause: unknown) {
    super(
      `the disk does not keep what is written to ${path} (${(cause as Error).message}): check the disk, have a backup ready, then start again`,
      { cause },
    )
    this.name = 'LostDiskError'
  }
}

/** Also where it is one of several failures. */
export function isLostDisk(error: unknown): boolean {
  return error instanceof LostDiskError || (error instanceof AggregateError && error.errors.some(isLostDisk))
}

/** Whether the database could not be read or written. It may pass, and is not the caller's mistake. */
export function isStorageFailure(error: unknown): boolean {
  const code = codeOf(error) ?? ''
  return code.startsWith('SQLITE_BUSY') || STORAGE.some((kind) => code.startsWith(kind))
}

/** Whether the same may work in a while: the disk has room again, or the lock is free. */
export function isPassing(error: unknown): boolean {
  return isStorageFailure(error) || (error instanceof AppError && error.code === 'unavailable')
}

/** Whether there is no room on the disk. */
export function isFull(error: unknown): boolean {
  const code = codeOf(error) ?? ''
  return FULL.some((kind) => code.startsWith(kind))
}

/** Whether SQLite could not sync a file, which leaves unknown what of it is on the disk. */
export function isFailedSync(error: unknown): boolean {
  return FAILED_SYNC.includes(codeOf(error) ?? '')
}

/** What the caller is told of a storage failure: what kind of trouble it is, and no path. */
export function storageUnavailable(error: unknown): AppError {
  if (isFull(error)) {
    return unavailable("The panel's disk is full; ask its operator to free some space", RETRY_SECONDS, error)
  }
  if (codeOf(error)?.startsWith('SQLITE_BUSY')) return busy()
  return unavailable('The panel cannot use its disk; tell its operator', RETRY_SECONDS, error)
}

/** Too many wait already, or another process keeps the lock. */
export function busy(): AppError {
  return unavailable(undefined, BUSY_RETRY_SECONDS, undefined)
}

/** Nothing more is written. @param cause tells the log why */
export function writesStopped(cause: unknown): AppError {
  return unavailable(
    'The panel cannot write to its disk and accepts no changes; tell its operator',
    RETRY_SECONDS,
    cause,
  )
}

/** It was committed, and may be gone after a power cut. */
export function outcomeUnknown(cause: unknown): AppError {
  return unavailable(
    "The panel's disk failed: the change may or may not have been made; check before you repeat it",
    RETRY_SECONDS,
    cause,
  )
}

function unavailable(message: string | undefined, retryAfterSeconds: number, cause: unknown): AppError {
  const error = new AppError('unavailable', message, { 'retry-after': `${retryAfterSeconds}` })
  if (cause !== undefined) error.cause = cause
  return error
}

/** Says what the operator can do about a database that can't be opened. Other errors stay as they are. */
export function explainOpening(error: unknown, path: string): unknown {
  const code = codeOf(error) ?? ''
  const is = (...kinds: string[]) => kinds.some((kind) => code.startsWith(kind))
  const explained = (text: string) => new Error(text, { cause: error })
  if (error instanceof LostDiskError) return error
  if (isFailedSync(error)) return new LostDiskError(path, error)
  if (isFull(error)) return explained(`the disk is full: make room for ${path}`)
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
