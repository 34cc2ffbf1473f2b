/** Everything that was committed, on the disk beyond doubt: the log written anew and synced, and moved into the database file. */
import type { Database } from 'bun:sqlite'
import { fdatasync, fdatasyncSync } from 'node:fs'
import { promisify } from 'node:util'
import { LostDiskError } from '../failures.ts'
import { rewriteLog } from './log-file.ts'
import type { WalIndex } from './wal-index.ts'

const syncData = promisify(fdatasync)

/**
 * At the start, before anything is built on a log that was found. What the one before has written may be in memory alone.
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

/** While others are served. The lock for writing must be held. @throws Error of the system, or when the log has changed */
export async function proveLog(log: number, { frames }: WalIndex): Promise<void> {
  rewriteLog(log, frames())
  await syncData(log)
}

/**
 * Moves the log into the database file, syncs that, and empties the log, as far as nobody reads older pages.
 *
 * @returns whether all of it was moved
 * @throws Error of SQLite
 */
export function moveLog(database: Database): boolean {
  const moved = database.query<{ log: number; checkpointed: number }, []>('PRAGMA wal_checkpoint(TRUNCATE)').get()
  return moved?.checkpointed === moved?.log
}
