/** Brings a database to this program's schema: in order, each file once, all or nothing. */
import type { Database } from 'bun:sqlite'
import { chmodSync } from 'node:fs'
import { migrations as bundled, type Migration } from './migrations.ts'

type Applied = { name: string; hash: string }

/**
 * Drizzle's own migrator runs with foreign keys on, which deletes the children of a rebuilt table, and takes a newer
 * or reordered database without a word; hence this one.
 *
 * @param options.path the database file; a copy is put beside it before an existing database is changed
 * @throws Error when the database was written by a newer program, or by one with other migrations
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
    // Read once more under the lock: another process may have been quicker.
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

function appliedMigrations(db: Database): Applied[] {
  return db.query<Applied, []>('SELECT name, hash FROM schema_migrations ORDER BY name').all()
}

function pendingMigrations(applied: Applied[], migrations: readonly Migration[]): readonly Migration[] {
  if (applied.length > migrations.length) {
    throw new Error(
      `The database is newer than this program (it has ${applied.length} migrations, this program knows ${migrations.length}); run the newer ncp, or restore a backup`,
    )
  }
  applied.forEach(({ name, hash }, position) => {
    const expected = migrations[position]
    if (!expected || expected.name !== name || hashOf(expected) !== hash) {
      throw new Error(`The database was migrated by another program: its migration ${name} is not ours`)
    }
  })
  return migrations.slice(applied.length)
}

function snapshot(db: Database, path: string): void {
  db.query('VACUUM INTO ?').run(path)
  chmodSync(path, 0o600)
}

function hashOf({ sql }: Migration): string {
  return new Bun.CryptoHasher('sha256').update(sql).digest('hex')
}
