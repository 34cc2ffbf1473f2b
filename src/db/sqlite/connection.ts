/** Opens a database file for writing, and proves the log that it finds before anything is built on it. */
import { Database } from 'bun:sqlite'
import { realpathSync } from 'node:fs'
import { openFile } from '../../system/open-files.ts'
import { mapWalIndex, type WalIndex } from './fast/wal-index.ts'
import { proveFoundLog } from './proof.ts'

export type WritingConnection = {
  database: Database
  /** Undefined where the system doesn't tell which files are open; the same for `log`. */
  walIndex: WalIndex | undefined
  /** A descriptor of the log. */
  log: number | undefined
}

/**
 * @param path a file that is there, empty for a new database
 * @param options.isLogDoubted whether nobody knows how much of a log that is found is on the disk: its writer may have ended
 * because a sync had failed
 * @throws LostDiskError when the log can't be proved; Error of SQLite
 */
export function openForWriting(path: string, { isLogDoubted }: { isLogDoubted: boolean }): WritingConnection {
  const database = new Database(path, { readwrite: true, create: false, strict: true })
  database.run('PRAGMA busy_timeout = 5000')
  database.run('PRAGMA journal_mode = WAL')
  // FULL: an acknowledged write survives a power cut.
  database.run('PRAGMA synchronous = FULL')
  // SQLite's own would tell nobody of a sync that failed.
  database.run('PRAGMA wal_autocheckpoint = 0')
  // The WAL index is there from the first read on.
  database.query('SELECT count(*) FROM sqlite_schema').get()
  const walIndex = mapWalIndex(path)
  const log = openFile(`${realpathSync(path)}-wal`)
  if (isLogDoubted && walIndex && log !== undefined) proveFoundLog(path, database, log, walIndex)
  return { database, walIndex, log }
}
