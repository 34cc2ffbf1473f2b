/** Migrations: in order, once, all or nothing, and never over a newer database. */
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { cpSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { migrate } from '../../src/db/sqlite/migrate.ts'
import { type Migration, migrations } from '../../src/db/sqlite/migrations.ts'
import { newDirectory } from '../harness/directory.ts'

const parent: Migration = {
  name: '0000_parent',
  sql: 'CREATE TABLE parent (id INTEGER PRIMARY KEY, name TEXT) STRICT; CREATE TABLE child (parent_id INTEGER REFERENCES parent (id) ON DELETE CASCADE) STRICT;',
}
const rebuild: Migration = {
  name: '0001_rebuild',
  sql: 'CREATE TABLE fresh (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT; INSERT INTO fresh SELECT * FROM parent; DROP TABLE parent; ALTER TABLE fresh RENAME TO parent;',
}

let directory: string
let db: Database
beforeEach(() => {
  directory = newDirectory()
  db = new Database(join(directory, 'test.db'), { strict: true })
})
afterEach(() => {
  db.close()
  rmSync(directory, { recursive: true })
})

const run = (...files: Migration[]) => migrate(db, { path: join(directory, 'test.db'), nowMs: 0, migrations: files })
const names = () =>
  db
    .query<{ name: string }, []>('SELECT name FROM schema_migrations')
    .all()
    .map(({ name }) => name)

test('the program contains every file of drizzle/, in the order of its journal', () => {
  const folder = join(import.meta.dir, '../../drizzle')
  const journal: { entries: { tag: string }[] } = JSON.parse(readFileSync(join(folder, 'meta/_journal.json'), 'utf8'))
  const files = readdirSync(folder).filter((name) => name.endsWith('.sql'))
  expect(migrations.map(({ name }) => name)).toEqual(journal.entries.map(({ tag }) => tag))
  expect(migrations.map(({ name }) => `${name}.sql`).sort()).toEqual(files.sort())
  for (const { name, sql } of migrations) expect(sql).toBe(readFileSync(join(folder, `${name}.sql`), 'utf8'))
})

test('the migrations create the tables that the program describes: drizzle-kit finds nothing to add', async () => {
  const root = join(import.meta.dir, '../..')
  cpSync(join(root, 'drizzle'), join(directory, 'drizzle'), { recursive: true })
  const command = ['node_modules/.bin/drizzle-kit', 'generate', '--dialect', 'sqlite', '--schema', 'src/db/tables.ts']
  // Its folder is taken as relative to where it runs.
  const out = relative(root, join(directory, 'drizzle'))
  const { stdout } = Bun.spawnSync([process.execPath, ...command, '--out', out], { cwd: root, env: Bun.env })
  expect(stdout.toString()).toContain('No schema changes')
})

test('every table is STRICT', () => {
  run(...migrations)
  const tables = db
    .query<{ name: string; strict: number }, []>(
      "SELECT name, strict FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite_%'",
    )
    .all()
  expect(tables.length).toBeGreaterThan(8)
  for (const { name, strict } of tables) expect([name, strict]).toEqual([name, 1])
})

test('each file runs once', () => {
  run(parent)
  run(parent)
  expect(names()).toEqual(['0000_parent'])
})

test('rebuilding a parent table keeps its children, and a copy from before lies beside the database', () => {
  run(parent)
  db.run("INSERT INTO parent VALUES (1, 'a')")
  db.run('INSERT INTO child VALUES (1)')
  db.run('PRAGMA foreign_keys = ON')
  run(parent, rebuild)
  expect(db.query('SELECT * FROM child').all()).toEqual([{ parent_id: 1 }])
  const copy = join(directory, 'test.db.before-0001_rebuild')
  expect(statSync(copy).mode & 0o777).toBe(0o600)
  using before = new Database(copy)
  expect(before.query('SELECT name FROM schema_migrations').all()).toEqual([{ name: '0000_parent' }])
})

test('a copy left by a failed attempt is replaced', () => {
  run(parent)
  const bad = { ...rebuild, sql: 'CREATE TABLE parent (id INTEGER) STRICT;' }
  for (let attempt = 0; attempt < 2; attempt++) expect(() => run(parent, bad)).toThrow('table parent already exists')
  db.run("INSERT INTO parent VALUES (1, 'later')")
  run(parent, rebuild)
  using before = new Database(join(directory, 'test.db.before-0001_rebuild'))
  expect(before.query('SELECT name FROM parent').all()).toEqual([{ name: 'later' }])
  expect(readdirSync(directory).filter((name) => name.includes('.new'))).toEqual([])
})

describe('a migration that', () => {
  test.each([
    [
      'fails in its second statement',
      'CREATE TABLE half (id INTEGER) STRICT; CREATE TABLE parent (id INTEGER) STRICT;',
    ],
    ['leaves a broken reference', 'CREATE TABLE half (id INTEGER) STRICT; INSERT INTO child VALUES (99);'],
  ])('%s leaves nothing behind', (_, sql) => {
    run(parent)
    expect(() => run(parent, { name: '0001_bad', sql })).toThrow()
    expect(names()).toEqual(['0000_parent'])
    expect(db.query("SELECT name FROM sqlite_master WHERE name = 'half'").all()).toEqual([])
    expect(db.query('SELECT * FROM child').all()).toEqual([])
  })

  test('was changed after it ran is noticed', () => {
    run(parent)
    expect(() => run({ ...parent, sql: `${parent.sql} ` })).toThrow('this one does not know its migration 0000_parent')
  })

  test('is unknown to an older program is refused with an explanation', () => {
    run(parent, rebuild)
    expect(() => run(parent)).toThrow('The database is newer than this program')
  })
})
