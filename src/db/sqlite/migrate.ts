/** Brings a database to this program's schema: in order, each file once, all or nothing. */
import { Database } from 'bun:sqlite'
import { chmodSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { sync } from '../../system/sync.ts'
import { openConnections } from './connection.ts'
import { migrations as bundled, type Migration } from './migrations.ts'
import { moveLog } from './proof.ts'

type Applied = { name: string; hash: string }

/**
 * Drizzle's own migrator runs with foreign keys on, which deletes the children of a rebuilt table, and silently accepts
 * a newer or reordered database; hence this one.
 *
 * @param options.path the database file; an existing database is copied beside it before it is changed
 * @throws Error when the database was written by a newer program or by one with other migrations
 */
export function migrate(
  db: Database,
  options: { path: string; nowMs: number; migrations?: readonly Migration[] },
): void {
  const migrations = options.migrations ?? bundled
  db.run(
    'CREATE TABLE IF NOT EXISTS schema_migrations (name TEXT PRIMARY KEY, hash TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT',
  )
  const before = appliedMigrations(db)
  const pending = pendingMigrations(before, migrations)
  if (pending.length === 0) return
  if (before.length > 0) snapshot(db, `${options.path}.before-${pending[0]?.name}`)

  // Has no effect inside a transaction, and must be off while a parent table is rebuilt.
  db.run('PRAGMA foreign_keys = OFF')
  db.transaction(() => {
    // Read again under the lock: another process may have been quicker.
    for (const migration of pendingMigrations(appliedMigrations(db), migrations)) {
      db.run(migration.sql)
      const broken = db.query('PRAGMA foreign_key_check').all()
      if (broken.length > 0) throw new Error(`Migration ${migration.name} leaves ${broken.length} broken references`)
      db.query('INSERT INTO schema_migrations (name, hash, applied_at) VALUES (?, ?, ?)').run(
        migration.name,
        hashOf(migration),
        options.nowMs,
      )
    }
  }).immediate()
}

export type MigrationState = {
  name: string
  /** Milliseconds since the epoch; undefined for a pending migration. */
  appliedAt: number | undefined
  /** Whether this program has the migration, exactly as it was applied. */
  isOurs: boolean
}

/**
 * Lists the applied migrations, then the pending ones, in order. Changes nothing.
 *
 * @throws Error when the file is not a database of the panel
 */
export function readMigrationStates(path: string): MigrationState[] {
  const db = new Database(path, { readonly: true })
  try {
    const sql = 'SELECT name, hash, applied_at FROM schema_migrations ORDER BY name'
    const applied = db.query<Applied & { applied_at: number }, []>(sql).all()
    const known = applied.map(({ name, hash, applied_at }, position) => {
      const ours = bundled[position]
      return { name, appliedAt: applied_at, isOurs: ours !== undefined && ours.name === name && hashOf(ours) === hash }
    })
    const pending = bundled.slice(applied.length)
    return [...known, ...pending.map(({ name }) => ({ name, appliedAt: undefined, isOurs: true }))]
  } finally {
    db.close()
  }
}

/** Migrates a database that no other process has open. @throws Error as `migrate` does, LostDiskError */
export function migrateFile(path: string, nowMs: number): void {
  const { database, reader } = openConnections(path, { isLogDoubted: true, mapsIndex: false })
  migrate(database, { path, nowMs })
  moveLog(database)
  reader.close()
  database.close()
}

function appliedMigrations(db: Database): Applied[] {
  return db.query<Applied, []>('SELECT name, hash FROM schema_migrations ORDER BY name').all()
}

function pendingMigrations(applied: Applied[], migrations: readonly Migration[]): readonly Migration[] {
  if (applied.length > migrations.length) {
    throw new Error(
      `The database is newer than this program (it has ${applied.length} migrations, this program knows ${migrations.length}); run the newer version, or restore a backup`,
    )
  }
  applied.forEach(({ name, hash }, position) => {
    const expected = migrations[position]
    if (!expected || expected.name !== name || hashOf(expected) !== hash) {
      throw new Error(`The database was migrated by another program: this one does not know its migration ${name}`)
    }
  })
  return migrations.slice(applied.length)
}

/** Replaces an existing copy: it is from a failed attempt, and may be older than the latest writes. */
function snapshot(db: Database, path: string): void {
  // A name of this process alone: two that start at once both make a copy.
  const unfinished = `${path}.new-${process.pid}`
  rmSync(unfinished, { force: true })
  db.query('VACUUM INTO ?').run(unfinished)
  chmodSync(unfinished, 0o600)
  sync(unfinished)
  renameSync(unfinished, path)
  sync(dirname(path))
}

function hashOf({ sql }: Migration): string {
  return new Bun.CryptoHasher('sha256').update(sql).digest('hex')
}
