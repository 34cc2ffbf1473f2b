/** Opens a database file for writing and for reading, and proves the log that it finds before anything is built on it. */
import { Database } from 'bun:sqlite'
import { realpathSync } from 'node:fs'
import { openFile } from '../../system/open-files.ts'
import { mapWalIndex } from './fast/wal-index.ts'
import { proveFoundLog } from './proof.ts'
import { askWalIndex, type WalIndex } from './wal-index.ts'

export type Connections = {
  /** The one that writes. */
  database: Database
  reader: Database
  walIndex: WalIndex
  /** A descriptor of the log. Undefined where the system does not tell which files are open. */
  log: number | undefined
}

export type ConnectionOptions = {
  /**
   * Whether it is unknown how much of a log that is found is on the disk: its writer may have ended because a sync had failed.
   */
  isLogDoubted: boolean
  /** Whether the WAL index may be read from memory. */
  mapsIndex: boolean
}

/**
 * @param path a file that is there, empty for a new database
 * @throws LostDiskError when the log cannot be proved; Error of SQLite
 */
export function openConnections(path: string, { isLogDoubted, mapsIndex }: ConnectionOptions): Connections {
  const database = new Database(path, { readwrite: true, create: false, strict: true })
  database.run('PRAGMA busy_timeout = 5000')
  database.run('PRAGMA journal_mode = WAL')
  // FULL: an acknowledged write survives a power cut.
  database.run('PRAGMA synchronous = FULL')
  // SQLite's own would tell nobody of a sync that failed.
  database.run('PRAGMA wal_autocheckpoint = 0')
  // The WAL index is there from the first read on.
  database.query('SELECT count(*) FROM sqlite_schema').get()
  const reader = new Database(path, { readonly: true, strict: true })
  reader.run('PRAGMA busy_timeout = 5000')
  const walIndex = (mapsIndex ? mapWalIndex(path) : undefined) ?? askWalIndex(reader)
  const log = openFile(`${realpathSync(path)}-wal`)
  if (isLogDoubted && log !== undefined) proveFoundLog(path, database, log, walIndex)
  return { database, reader, walIndex, log }
}
