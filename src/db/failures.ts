/** What can go wrong beneath the database, told apart from what is wrong with a request, and in words for caller and operator. */
import { codeOf } from '../core/error-code.ts'
import { AppError } from '../core/errors.ts'
import type { FailureKind } from './failure-kind.ts'
import { kindOfCode } from './sqlite/error-codes.ts'

/** The operating system's own codes. */
const SYSTEM_KINDS: Readonly<Record<string, FailureKind>> = {
  ENOSPC: 'full',
  EDQUOT: 'full',
  EIO: 'storage',
  EROFS: 'storage',
}

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

/** @returns undefined for what is no failure of the database or its disk */
function kindOf(error: unknown): FailureKind | undefined {
  const code = codeOf(error)
  return code === undefined ? undefined : (SYSTEM_KINDS[code] ?? kindOfCode(code))
}

/** Whether a query failed because a unique index, or a primary key, already holds the value. */
export function isUniqueViolation(error: unknown): boolean {
  return kindOf(error) === 'unique'
}

/** Whether another process holds the lock. */
export function isBusy(error: unknown): boolean {
  return kindOf(error) === 'busy'
}

/** Whether there is no room on the disk. */
export function isFull(error: unknown): boolean {
  return kindOf(error) === 'full'
}

/** Whether the database could not be read or written. It may pass, and is not the caller's mistake. */
export function isStorageFailure(error: unknown): boolean {
  const kind = kindOf(error)
  return kind === 'busy' || kind === 'full' || kind === 'storage'
}

/** Whether the same may work in a while: the disk has room again, or the lock is free. */
export function isPassing(error: unknown): boolean {
  return isStorageFailure(error) || (error instanceof AppError && error.code === 'unavailable')
}

/** What the caller is told of a storage failure: what kind of trouble it is, and no path. */
export function storageUnavailable(error: unknown): AppError {
  if (isFull(error)) {
    return unavailable("The panel's disk is full; ask its operator to free some space", RETRY_SECONDS, error)
  }
  if (isBusy(error)) return busy()
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
