/** What SQLite knows of its log: whether anything was committed, and how much has yet to move to the database file. */
import type { Database } from 'bun:sqlite'

export type WalIndex = {
  /** Changes with every commit of any process. */
  version(): number
  /** Pages in the log, as of the last commit. */
  frames(): number
  /** How many of them SQLite believes to be in the database file. */
  moved(): number
  /** Pages in the log that are not in the database file yet. */
  backlog(): number
}

/**
 * Asks SQLite each time, at the cost of a few system calls. `fast/wal-index.ts` needs none.
 *
 * @param reader a connection in WAL mode that stays open while the index is in use, and never writes
 */
export function askWalIndex(reader: Database): WalIndex {
  const version = reader.prepare<{ data_version: number }, []>('PRAGMA data_version')
  const noop = reader.prepare<{ log: number; checkpointed: number }, []>('PRAGMA wal_checkpoint(NOOP)')
  const counts = () => noop.get() ?? { log: 0, checkpointed: 0 }
  return {
    version: () => version.get()?.data_version ?? -1,
    frames: () => counts().log,
    moved: () => counts().checkpointed,
    backlog() {
      const { log, checkpointed } = counts()
      return log - checkpointed
    },
  }
}
