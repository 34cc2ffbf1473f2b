/** Opens a database file for writing and reading, and proves an existing log before anything builds on it. */
import { Database } from 'bun:sqlite'
import { realpathSync } from 'node:fs'
import { openFile } from '../../system/open-files.ts'
import { mapWalIndex } from './fast/wal-index.ts'
import { proveFoundLog } from './proof.ts'
import { askWalIndex, type WalIndex } from './wal-index.ts'

export type Connections = {
  /** The connection that writes. */
  database: Database
  reader: Database
  walIndex: WalIndex
  /** A descriptor of the log; undefined if the system does not show which files are open. */
  log: number | undefined
}

export type ConnectionOptions = {
  /**
   * Whether an existing log may be only partly on the disk, because its writer may have ended after a failed sync.
   */
  isLogDoubted: boolean
  /** Whether the WAL index may be read from memory. */
  mapsIndex: boolean
}

/**
 * @param path an existing file, empty for a new database
 * @throws LostDiskError when the log cannot be proved; errors of SQLite
 */
export function openConnections(path: string, { isLogDoubted, mapsIndex }: ConnectionOptions): Connections {
  const database = new Database(path, { readwrite: true, create: false, strict: true })
  database.run('PRAGMA busy_timeout = 5000')
  database.run('PRAGMA journal_mode = WAL')
  // FULL: an acknowledged write survives a power cut.
  database.run('PRAGMA synchronous = FULL')
  // SQLite's own checkpoints would hide a failed sync.
  database.run('PRAGMA wal_autocheckpoint = 0')
  // The WAL index exists from the first read on.
  database.query('SELECT count(*) FROM sqlite_schema').get()
  const reader = new Database(path, { readonly: true, strict: true })
  reader.run('PRAGMA busy_timeout = 5000')
  const walIndex = (mapsIndex ? mapWalIndex(path) : undefined) ?? askWalIndex(reader)
  const log = openFile(`${realpathSync(path)}-wal`)
  if (isLogDoubted && log !== undefined) proveFoundLog(path, database, log, walIndex)
  return { database, reader, walIndex, log }
}
