/** Puts all commits on the disk beyond doubt: rewrites and syncs the log, and moves it into the database file. */
import type { Database } from 'bun:sqlite'
import { fdatasync, fdatasyncSync } from 'node:fs'
import { promisify } from 'node:util'
import { LostDiskError } from '../failures.ts'
import { rewriteLog } from './log-file.ts'
import type { WalIndex } from './wal-index.ts'

const syncData = promisify(fdatasync)

/**
 * For startup, before anything builds on an existing log: what the previous process wrote may be only in memory.
 *
 * @throws LostDiskError
 */
export function proveFoundLog(path: string, database: Database, log: number, { frames }: WalIndex): void {
  database
    .transaction(() => {
      try {
        rewriteLog(log, frames())
        if (frames() > 0) fdatasyncSync(log)
      } catch (error) {
        throw new LostDiskError(path, error)
      }
    })
    .immediate()
  moveLog(database)
}

/** For a running panel. The write lock must be held. @throws errors of the system; Error when the log has changed */
export async function proveLog(log: number, { frames }: WalIndex): Promise<void> {
  rewriteLog(log, frames())
  await syncData(log)
}

/**
 * Moves the log into the database file, syncs that, and empties the log, as far as readers of older pages allow.
 *
 * @returns whether all of it was moved
 * @throws errors of SQLite
 */
export function moveLog(database: Database): boolean {
  const moved = database.query<{ log: number; checkpointed: number }, []>('PRAGMA wal_checkpoint(TRUNCATE)').get()
  return moved?.checkpointed === moved?.log
}
