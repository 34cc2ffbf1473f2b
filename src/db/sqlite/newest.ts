/** Single facts of a database file, read beside a panel that may be running, without opening it for writing. */
import { Database } from 'bun:sqlite'

/** @returns when the newest audit entry was written, in milliseconds since the epoch; undefined without entries */
export function newestAuditEntryAt(path: string): number | undefined {
  const sql = 'SELECT created_at FROM audit_log ORDER BY id DESC LIMIT 1'
  return readOne<{ created_at: number }>(path, sql)?.created_at
}

/** @returns the JSON of a setting; undefined for a default */
export function storedSetting(path: string, key: string): unknown {
  const row = readOne<{ value: string }>(path, 'SELECT value FROM settings WHERE key = ?', key)
  return row && JSON.parse(row.value)
}

function readOne<Row>(path: string, sql: string, ...values: string[]): Row | undefined {
  const database = new Database(path, { readonly: true })
  try {
    return database.query<Row, string[]>(sql).get(...values) ?? undefined
  } finally {
    database.close()
  }
}
