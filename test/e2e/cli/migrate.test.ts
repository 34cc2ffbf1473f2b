/** Migrations by the compiled binary: an old database comes up with all its rows, a newer one is refused in words. */
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { migrate } from '../../../src/db/sqlite/migrate.ts'
import { migrations } from '../../../src/db/sqlite/migrations.ts'
import { type Installation, install } from '../../harness/binary.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

const LAST = migrations.at(-1)?.name ?? ''

let here: Installation
beforeEach(async () => {
  here = await install()
})
afterEach(() => here.remove())

/** An installation as the first version left it, with a customer, a subscription, two sites and a key. */
function firstVersion(): void {
  mkdirSync(here.inData(), { mode: 0o700 })
  for (const name of ['jwt.key', 'totp.key']) writeFileSync(here.inData(name), `${'ab'.repeat(32)}\n`, { mode: 0o600 })
  const path = here.inData('ncp.db')
  using database = new Database(path, { strict: true })
  migrate(database, { path, nowMs: 1, migrations: migrations.slice(0, 1) })
  for (const sql of [
    "INSERT INTO users (id, email, name, role, status, created_at, updated_at) VALUES (7, 'ada@example.com', 'Ada', 'customer', 'active', 1, 1)",
    "INSERT INTO users (id, email, name, role, status, created_at, updated_at) VALUES (8, 'root@example.com', 'Root', 'admin', 'active', 1, 1)",
    "INSERT INTO subscriptions (id, user_id, name, status, is_default, max_sites, created_at, updated_at) VALUES (3, 7, 'Hosting', 'active', 1, 0, 1, 1)",
    "INSERT INTO sites (id, subscription_id, document_root, php_version, status, created_at, updated_at) VALUES (5, 3, '/srv', '8.3', 'active', 1, 1), (6, 3, '/srv', '8.3', 'disabled', 1, 1)",
    "INSERT INTO site_domains VALUES ('a.example', 5, 0), ('b.example', 6, 0), ('www.a.example', 5, 1)",
    `INSERT INTO api_keys (id, user_id, name, key_hash, key_prefix, created_at) VALUES (9, 7, 'Old', '${'c'.repeat(64)}', 'ncp_0123456789abcdef', 1)`,
  ]) {
    database.run(sql)
  }
}

const run = (...args: string[]) => here.run(['migrate', ...args])

test('an installation of the first version is upgraded by ncp migrate up, with every row', async () => {
  firstVersion()
  const before = await run('status')
  expect(before.exitCode).toBe(0)
  expect(before.stdout).toBe(
    migrations
      .map(({ name }, position) => `${name}\t${position === 0 ? '1970-01-01T00:00:00.001Z' : 'pending'}\n`)
      .join(''),
  )
  const up = await run('up')
  expect([up.exitCode, up.stderr]).toEqual([0, ''])
  expect(up.stdout).toBe(
    `${migrations
      .slice(1)
      .map(({ name }) => `applied ${name}\n`)
      .join('')}a copy of the old database is in data/ncp.db.before-${migrations[1]?.name}\n`,
  )
  const copy = here.inData(`ncp.db.before-${migrations[1]?.name}`)
  expect(statSync(copy).mode & 0o777).toBe(0o600)

  using database = new Database(here.inData('ncp.db'))
  const rows = (table: string) => (database.query(`SELECT count(*) AS n FROM ${table}`).get() as { n: number }).n
  expect(['users', 'subscriptions', 'sites', 'site_domains', 'api_keys'].map(rows)).toEqual([2, 1, 2, 3, 1])
  expect(database.query('PRAGMA foreign_key_check').all()).toEqual([])
  database.close()

  expect((await run('up')).stdout).toBe('nothing to apply\n')
  const after = JSON.parse((await run('status', '--json')).stdout)
  expect(after.map(({ name }: { name: string }) => name)).toEqual(migrations.map(({ name }) => name))
  for (const state of after) expect(state).toMatchObject({ applied_at: expect.any(String), known: true })
})

test('ncp serve does the same at its start, and then serves the existing data', async () => {
  firstVersion()
  const panel = await here.serve(['--no-tls'])
  expect(readdirSync(here.inData())).toContain(`ncp.db.before-${migrations[1]?.name}`)
  const passwd = await here.run(['user', 'passwd', 'ada@example.com', '--password-stdin'], {
    stdin: 'correct horse battery staple',
  })
  expect(passwd.exitCode).toBe(0)
  const { data } = await panel.login('ada@example.com', 'correct horse battery staple')
  type Site = { domain: string; aliases: string[]; kind: string; php_version: null; enabled: boolean; status: string }
  const sites = await panel.send<Site[]>('GET', '/sites', { as: data.token })
  // Nothing was served by that version, whatever it said: they are static sites that wait.
  const waiting = { kind: 'static', php_version: null, status: 'provisioning', generation: 1, observed_generation: 0 }
  expect(sites.data).toMatchObject([
    { domain: 'a.example', aliases: ['www.a.example'], enabled: true, ...waiting },
    { domain: 'b.example', aliases: [], enabled: false, ...waiting },
  ])
  // Nothing is changed under a panel.
  const up = await run('up')
  expect([up.exitCode, up.stderr]).toEqual([1, 'ncp: a panel or another command is using ./data; stop it first\n'])
})

test('a database of a newer version is refused by every command with an explanation, and left unchanged', async () => {
  await (await here.serve()).stop()
  {
    using database = new Database(here.inData('ncp.db'))
    database.run("INSERT INTO schema_migrations VALUES ('9999_future', 'x', 0)")
  }
  const message = /The database is newer than this program .*; run the newer version, or restore a backup/
  for (const args of [
    ['serve', '--port', '0'],
    ['user', 'list'],
    ['migrate', 'up'],
  ]) {
    const { exitCode, stderr, stdout } = await here.run(args)
    expect([args, exitCode, stdout]).toEqual([args, 1, ''])
    expect(stderr).toMatch(message)
  }
  const status = await run('status')
  expect([status.exitCode, status.stderr]).toEqual([
    1,
    'ncp: this version does not know the migration 9999_future; run the version that applied it\n',
  ])
  expect(status.stdout.trim().split('\n').at(-1)).toBe('9999_future\t1970-01-01T00:00:00.000Z\tunknown')
  expect(status.stdout).toContain(LAST)
})

test('without a panel there is no status', async () => {
  const { exitCode, stderr } = await run('status')
  expect([exitCode, stderr]).toEqual([3, expect.stringContaining('there is no panel in')])
})
