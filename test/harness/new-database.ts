/** The database of a new panel: migrated once a process, which is half of a start's time, and from then on copied. */
import { Database } from 'bun:sqlite'
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { migrateFile } from '../../src/db/sqlite/migrate.ts'
import { newDirectory } from './directory.ts'

/** Where the header says how the file is written and read. @see https://www.sqlite.org/fileformat.html#file_format_version_numbers */
const FORMAT_VERSIONS = [18, 20] as const
const ROLLBACK_JOURNAL = 1

let migrated: Uint8Array | undefined

/** Puts one into a data directory that is empty, as a panel's first start makes it. */
export function putNewDatabase(path: string, nowMs: number): void {
  migrated ??= migrate(nowMs)
  using database = Database.deserialize(migrated)
  // Made at random by a migration, and told to nodes.
  database.run('UPDATE installation SET installation_id = lower(hex(randomblob(16)))')
  writeFileSync(path, database.serialize(), { mode: 0o600 })
}

function migrate(nowMs: number): Uint8Array {
  const directory = newDirectory('ncp-migrated-')
  const path = join(directory, 'ncp.db')
  try {
    closeSync(openSync(path, 'a', 0o600))
    migrateFile(path, nowMs)
    const bytes = new Uint8Array(readFileSync(path))
    // A database in memory has no write-ahead log; the panel turns it on again.
    bytes.fill(ROLLBACK_JOURNAL, ...FORMAT_VERSIONS)
    return bytes
  } finally {
    rmSync(directory, { recursive: true })
  }
}
