/** Copies a database that others are writing to, and checks whether a database file is intact. */
import { Database } from 'bun:sqlite'
import { chmodSync } from 'node:fs'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import type { Queries } from '../store.ts'
import * as tables from '../tables.ts'

/**
 * Copies the committed state of one moment while readers and writers go on. The copy is not synced to disk yet.
 *
 * @param to a path where no file exists; it gets mode 0600
 * @throws Error when the source is damaged or the disk is full
 */
export function copyDatabase(from: string, to: string): void {
  const source = new Database(from, { readonly: true })
  try {
    source.run('PRAGMA busy_timeout = 5000')
    source.query('VACUUM INTO ?').run(to)
  } finally {
    source.close()
  }
  chmodSync(to, 0o600)
}

export type DatabaseReport = {
  /** What is wrong with the file; empty if it is intact. */
  problems: string[]
  /** Names of the migrations that made its schema, oldest first. */
  migrations: string[]
}

/** Reads the whole file. Changes nothing. */
export function inspectDatabase(path: string): DatabaseReport {
  let database: Database | undefined
  try {
    database = new Database(path, { readonly: true })
    const integrity = database.query<{ integrity_check: string }, []>('PRAGMA integrity_check(10)').all()
    const damage = integrity.map((row) => row.integrity_check).filter((text) => text !== 'ok')
    const orphans = database.query('PRAGMA foreign_key_check').all().length
    const rows = database.query<{ name: string }, []>('SELECT name FROM schema_migrations ORDER BY name').all()
    const problems = [...damage, ...(orphans > 0 ? [`${orphans} rows refer to missing rows`] : [])]
    return { problems, migrations: rows.map(({ name }) => name) }
  } catch (error) {
    return { problems: [(error as Error).message], migrations: [] }
  } finally {
    database?.close()
  }
}

/**
 * Opens a database that no panel has open, such as one in a backup, for the duration of `work`. Changes nothing.
 *
 * @throws Error if the file is not a database, and whatever `work` throws
 */
export async function readDatabase<T>(path: string, work: (read: Queries) => Promise<T>): Promise<T> {
  const database = new Database(path, { readonly: true, strict: true })
  try {
    addAuditHead(database)
    return await work(drizzle(database, { schema: tables }))
  } finally {
    database.close()
  }
}

const AUDIT_HEAD = `CREATE TEMP TABLE audit_head AS
  SELECT 1 AS id, last AS entry_id, CASE last WHEN 0 THEN printf('%064d', 0) ELSE coalesce(
    (SELECT hash FROM audit_log WHERE id = last), (SELECT hash FROM audit_horizon WHERE entry_id = last), '') END AS hash
  FROM (SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'audit_log'), 0) AS last)`

/** For a backup from before there was a head: adds one beside the database, in memory, as the migration would. */
function addAuditHead(database: Database): void {
  if (database.query("SELECT 1 FROM sqlite_schema WHERE name = 'audit_head'").get()) return
  database.run('PRAGMA temp_store = MEMORY')
  database.run(AUDIT_HEAD)
}
