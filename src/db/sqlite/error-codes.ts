/** What SQLite's result codes mean: https://www.sqlite.org/rescode.html */
import { codeOf } from '../../core/error-code.ts'
import type { FailureKind } from '../failure-kind.ts'

const PREFIX = 'SQLITE_'

/** By prefix: an extended code begins with the name of its primary one. */
const KINDS: readonly (readonly [string, FailureKind])[] = [
  ['SQLITE_CONSTRAINT_UNIQUE', 'unique'],
  ['SQLITE_CONSTRAINT_PRIMARYKEY', 'unique'],
  ['SQLITE_BUSY', 'busy'],
  ['SQLITE_FULL', 'full'],
  ['SQLITE_IOERR', 'storage'],
  ['SQLITE_READONLY', 'storage'],
  ['SQLITE_CORRUPT', 'storage'],
  ['SQLITE_NOTADB', 'storage'],
  ['SQLITE_CANTOPEN', 'storage'],
]

/** Failed syncs of a file or of the directory that names it. */
const FAILED_SYNC = ['SQLITE_IOERR_FSYNC', 'SQLITE_IOERR_DIR_FSYNC']

/** @returns undefined for a code that is not SQLite's, or that means a mistake in the program */
export function kindOfCode(code: string): FailureKind | undefined {
  // Most callers ask about an error of the API, for example with each refused request.
  if (!code.startsWith(PREFIX)) return undefined
  return KINDS.find(([beginning]) => code.startsWith(beginning))?.[1]
}

/** Whether SQLite could not sync a file, which leaves open how much of it is on the disk. */
export function isFailedSync(error: unknown): boolean {
  return FAILED_SYNC.includes(codeOf(error) ?? '')
}
