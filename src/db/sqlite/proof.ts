/** Everything that was committed, on the disk beyond doubt: the log written anew and synced, and moved into the database file. */
import type { Database } from 'bun:sqlite'
import { fdatasync, fdatasyncSync } from 'node:fs'
import { promisify } from 'node:util'
import { LostDiskError } from '../failures.ts'
import type { WalIndex } from './fast/wal-index.ts'
import { rewriteLog } from './log-file.ts'

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
  const moved = checkpoint(database, 'TRUNCATE')
  return moved.checkpointed === moved.log
}

/** Pages in the log that are not in the database file yet. Where the index can't be read: a few system calls. */
export function countBacklog(database: Database): number {
  const { log, checkpointed } = checkpoint(database, 'NOOP')
  return log - checkpointed
}

type Checkpoint = { log: number; checkpointed: number }

function checkpoint(database: Database, mode: 'TRUNCATE' | 'NOOP'): Checkpoint {
  const result = database.query<Checkpoint, []>(`PRAGMA wal_checkpoint(${mode})`).get()
  return result ?? { log: 0, checkpointed: 0 }
}
