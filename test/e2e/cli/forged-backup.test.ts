/** Forged backups, manifest and all: reported by `verify`, refused by `restore`, printed safely. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { cpSync, existsSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Installation, install } from '../../harness/binary.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

type Manifest = { version: string; schema: string; files: { path: string; size: number; sha256: string }[] }

let here: Installation
let good: string
beforeAll(async () => {
  here = await install()
  await (await here.serve()).stop()
  for (const email of ['ada@example.com', 'bob@example.com']) await succeed('user', 'create', '--email', email)
  good = JSON.parse(await succeed('backup', 'create', '--json')).path
})
afterAll(() => here.remove())

async function succeed(...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await here.run(args)
  expect([args, exitCode, stderr]).toEqual([args, 0, ''])
  return stdout
}

const readManifest = (backup: string): Manifest => JSON.parse(readFileSync(join(backup, 'manifest.json'), 'utf8'))
const writeManifest = (backup: string, manifest: object) =>
  writeFileSync(join(backup, 'manifest.json'), JSON.stringify(manifest))

/** As a forger would: the manifest says of each file what it is now. */
function seal(backup: string): void {
  const manifest = readManifest(backup)
  for (const file of manifest.files) {
    const path = join(backup, file.path)
    file.size = statSync(path).size
    file.sha256 = new Bun.CryptoHasher('sha256').update(readFileSync(path)).digest('hex')
  }
  writeManifest(backup, manifest)
}

function addToManifest(backup: string, path: string): void {
  const manifest = readManifest(backup)
  manifest.files.push({ path, size: 0, sha256: '0'.repeat(64) })
  writeManifest(backup, manifest)
}

function alterDatabase(backup: string, ...statements: string[]): void {
  const database = new Database(join(backup, 'ncp.db'))
  for (const statement of statements) database.run(statement)
  database.close()
  seal(backup)
}

const forgeries: [string, RegExp, (backup: string) => void][] = [
  ['its database named twice', /its manifest lists a file twice/, (backup) => addToManifest(backup, 'ncp.db')],
  ...['restoring', 'ncp.lock', 'restore-unfinished', 'ncp.db-wal', 'tls/../jwt.key', 'backups/x'].map(
    (name): [string, RegExp, (backup: string) => void] => [
      `a file named ${name}`,
      /its manifest lists files that do not belong in a backup|its manifest lists files that do not belong in a backup/,
      (backup) => {
        if (!name.includes('/')) writeFileSync(join(backup, name), 'x')
        addToManifest(backup, name)
      },
    ],
  ),
  [
    'a file that its manifest does not name',
    /ncp\.db-wal is not in its manifest/,
    (backup) => writeFileSync(join(backup, 'ncp.db-wal'), 'x'),
  ],
  [
    'a file among its certificates that its manifest does not name',
    /tls\/other\.pem is not in its manifest/,
    (backup) => writeFileSync(join(backup, 'tls', 'other.pem'), 'x'),
  ],
  [
    'a pipe for a secret',
    /totp\.key is not a regular file/,
    (backup) => {
      rmSync(join(backup, 'totp.key'))
      Bun.spawnSync(['mkfifo', join(backup, 'totp.key')])
    },
  ],
  [
    'a pipe for a manifest',
    /its manifest\.json is not a regular file/,
    (backup) => {
      rmSync(join(backup, 'manifest.json'))
      Bun.spawnSync(['mkfifo', join(backup, 'manifest.json')])
    },
  ],
  [
    'a link to a file without an end',
    /totp\.key is not a regular file/,
    (backup) => {
      rmSync(join(backup, 'totp.key'))
      symlinkSync('/dev/zero', join(backup, 'totp.key'))
    },
  ],
  [
    'a link to a directory elsewhere',
    /tls\/cert\.pem is not a regular file/,
    (backup) => {
      const elsewhere = `${backup}-elsewhere`
      rmSync(elsewhere, { recursive: true, force: true })
      renameSync(join(backup, 'tls'), elsewhere)
      symlinkSync(elsewhere, join(backup, 'tls'))
    },
  ],
  [
    'a file in place of its certificates',
    /(?:^|; )tls is not in its manifest/m,
    (backup) => {
      rmSync(join(backup, 'tls'), { recursive: true })
      writeFileSync(join(backup, 'tls'), 'x')
    },
  ],
  [
    'a missing table',
    /table sites is missing/,
    (backup) => alterDatabase(backup, 'PRAGMA foreign_keys = OFF', 'DROP TABLE site_domains', 'DROP TABLE sites'),
  ],
  [
    'a trigger of its own',
    /trigger keep_admin is not one of the panel's/,
    (backup) =>
      alterDatabase(
        backup,
        "CREATE TRIGGER keep_admin AFTER INSERT ON users BEGIN UPDATE users SET role = 'admin'; END",
      ),
  ],
  [
    'an audit log that can be changed',
    /trigger \w+ is missing/,
    (backup) => alterDatabase(backup, ...dropTriggers(backup)),
  ],
  [
    'a changed audit log behind the right triggers',
    /the audit log is broken at entry 2/,
    (backup) => {
      const triggers = triggersOf(backup)
      alterDatabase(
        backup,
        ...dropTriggers(backup),
        "UPDATE audit_log SET action = 'auth.logout' WHERE id = 2",
        ...triggers.map(({ sql }) => sql),
      )
    },
  ],
]

function triggersOf(backup: string): { name: string; sql: string }[] {
  using database = new Database(join(backup, 'ncp.db'), { readonly: true })
  return database
    .query<{ name: string; sql: string }, []>("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
    .all()
}

const dropTriggers = (backup: string) => triggersOf(backup).map(({ name }) => `DROP TRIGGER ${name}`)

test.each(forgeries)('a backup with %s is reported, not restored, and changes nothing', async (_, message, forge) => {
  const forged = here.path('forged')
  rmSync(forged, { recursive: true, force: true })
  cpSync(here.path(good), forged, { recursive: true })
  forge(forged)
  const before = new Bun.CryptoHasher('sha256').update(readFileSync(here.inData('ncp.db'))).digest('hex')

  for (const command of ['verify', 'restore']) {
    const { exitCode, stderr } = await here.run(['backup', command, './forged'])
    expect([command, exitCode]).toEqual([command, 1])
    expect(stderr).toMatch(message)
  }
  expect(new Bun.CryptoHasher('sha256').update(readFileSync(here.inData('ncp.db'))).digest('hex')).toBe(before)
  expect(existsSync(here.inData('restoring'))).toBe(false)
  expect(await succeed('user', 'list')).toContain('ada@example.com')
})

test('a backup without tampering is accepted', async () => {
  expect(await succeed('backup', 'verify', good)).toContain('is good')
})

test.each(['version', 'schema'] as const)('a %s with escape sequences is never printed', async (field) => {
  const forged = here.path('backups-of-others', 'ncp-20300101T000000000Z')
  rmSync(forged, { recursive: true, force: true })
  cpSync(here.path(good), forged, { recursive: true })
  writeManifest(forged, { ...readManifest(forged), [field]: '0.1.0\u001b]0;owned\u0007' })
  for (const command of [['list'], ['verify'], ['restore', 'ncp-20300101T000000000Z']]) {
    const { stdout, stderr } = await here.run(['backup', ...command, '--backup-dir', 'backups-of-others'])
    expect(stdout + stderr).not.toContain('\u001b')
  }
})
