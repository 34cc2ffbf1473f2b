/** Failures of the database, told apart from mistakes in a request, and worded for callers and operators. */
import { codeOf } from '../core/error-code.ts'
import { AppError } from '../core/errors.ts'
import type { FailureKind } from './failure-kind.ts'
import { kindOfCode } from './sqlite/error-codes.ts'

/** Error codes of the operating system. */
const SYSTEM_KINDS: Readonly<Record<string, FailureKind>> = {
  ENOSPC: 'full',
  EDQUOT: 'full',
  EIO: 'storage',
  EROFS: 'storage',
}

/** A disk is not repaired in a moment. */
const RETRY_SECONDS = 30
const BUSY_RETRY_SECONDS = 2

/** The disk lost what was written, even when it was rewritten: the process has to end without touching its files. */
export class LostDiskError extends Error {
  constructor(path: string, cause: unknown) {
    super(
      `the disk does not keep what is written to ${path} (${(cause as Error).message}): check the disk, have a backup ready, then start again`,
      { cause },
    )
    this.name = 'LostDiskError'
  }
}

/** Even if it is one of several failures. */
export function isLostDisk(error: unknown): boolean {
  return error instanceof LostDiskError || (error instanceof AggregateError && error.errors.some(isLostDisk))
}

/** @returns undefined for anything but a failure of the database or its disk */
function kindOf(error: unknown): FailureKind | undefined {
  const code = codeOf(error)
  return code === undefined ? undefined : (SYSTEM_KINDS[code] ?? kindOfCode(code))
}

/** Whether a query failed because a unique index or primary key already holds the value. */
export function isUniqueViolation(error: unknown): boolean {
  return kindOf(error) === 'unique'
}

/** Whether another process holds the lock. */
export function isBusy(error: unknown): boolean {
  return kindOf(error) === 'busy'
}

/** Whether the disk is full. */
export function isFull(error: unknown): boolean {
  return kindOf(error) === 'full'
}

/** Whether the database could not be read or written. This may pass, and is not the caller's mistake. */
export function isStorageFailure(error: unknown): boolean {
  const kind = kindOf(error)
  return kind === 'busy' || kind === 'full' || kind === 'storage'
}

/** Whether the same request may succeed later, once the disk has room or the lock is free. */
export function isPassing(error: unknown): boolean {
  return isStorageFailure(error) || (error instanceof AppError && error.code === 'unavailable')
}

/** Tells the caller about a storage failure: the kind of trouble, and no path. */
export function storageUnavailable(error: unknown): AppError {
  if (isFull(error)) {
    return unavailable("The panel's disk is full; ask its operator to free some space", RETRY_SECONDS, error)
  }
  if (isBusy(error)) return busy()
  return unavailable('The panel cannot use its disk; tell its operator', RETRY_SECONDS, error)
}

/** Too many writes are already waiting, or another process holds the lock. */
export function busy(): AppError {
  return unavailable(undefined, BUSY_RETRY_SECONDS, undefined)
}

/** Nothing is written any longer. @param cause explains it in the log */
export function writesStopped(cause: unknown): AppError {
  return unavailable(
    'The panel cannot write to its disk and accepts no changes; tell its operator',
    RETRY_SECONDS,
    cause,
  )
}

/** The change was committed, but a power cut might undo it. */
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
