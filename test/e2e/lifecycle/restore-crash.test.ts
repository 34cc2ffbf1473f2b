/** kill -9 at every step of a restore: the old installation or the restored one is whole, and nothing in between is served. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { cpSync, lstatSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Installation, install } from '../../harness/binary.ts'
import { PASSWORD } from '../../harness/panel.ts'
import { type Call, canTrace, killBefore, traceChanges } from '../../harness/strace.ts'

// A first run compiles the binary.
setDefaultTimeout(180_000)

const SECRETS = ['jwt.key', 'totp.key']
const UNFINISHED =
  /^ncp: a restore of (\S+) into data was interrupted; run 'ncp backup restore' again, with that backup or another one\n$/

describe.skipIf(!canTrace)('a restore that is killed', () => {
  let here: Installation
  /** Outside of the data directory, as an absolute path. */
  let backup: string
  /** Every change that an uninterrupted restore makes. */
  let calls: Call[]
  let secrets: { old: string[]; restored: string[] }
  const IN = ['--data', 'data']
  const restore = () => ['./ncp', 'backup', 'restore', backup, ...IN]

  beforeAll(async () => {
    here = await install('ncp-restore-')
    await started()
    await user('kept@example.com')
    const made = await succeed('backup', 'create', '--json', '--backup-dir', 'backups')
    backup = here.path(JSON.parse(made).path)
    // Other secrets than in the backup, and a database whose last writes are in the log alone, as after a crash.
    rmSync(here.inData(), { recursive: true })
    await started()
    await user('old@example.com')
    const panel = await here.serve(['--no-tls', ...IN])
    const as = (await panel.login('admin@localhost', here.adminPassword())).data.token
    const body = { email: 'in-log@example.com', name: 'In the log', role: 'customer' }
    expect((await panel.send('POST', '/admin/users', { as, body })).status).toBe(201)
    panel.signal('SIGKILL')
    await panel.ended()
    expect(Bun.file(here.inData('ncp.db-wal')).size).toBeGreaterThan(0)
    secrets = { old: secretsIn(here.inData()), restored: secretsIn(backup) }
    renameSync(here.inData(), here.path('before'))

    reset()
    const traced = await traceChanges(restore(), { cwd: here.directory })
    expect([traced.exitCode, traced.stderr]).toEqual([0, ''])
    calls = traced.calls
    expect(calls.filter(({ name }) => name === 'rename').length).toBeGreaterThan(8)
  })
  afterAll(() => here.remove())

  async function succeed(...args: string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await here.run(args, { stdin: PASSWORD })
    expect([args, exitCode, stderr]).toEqual([args, 0, ''])
    return stdout
  }
  const started = async () => (await here.serve(['--no-tls', ...IN])).stop()
  const user = (email: string) => succeed('user', 'create', '--email', email, '--password-stdin', ...IN)
  const secretsIn = (directory: string) => SECRETS.map((name) => readFileSync(join(directory, name), 'utf8'))

  function reset(): void {
    rmSync(here.inData(), { recursive: true, force: true })
    // A killed panel leaves its socket, which cannot be copied.
    const filter = (path: string) => !lstatSync(path).isSocket()
    cpSync(here.path('before'), here.inData(), { recursive: true, filter })
  }

  /** Opened with its log, as a panel would. */
  function emailsIn(directory: string): string[] {
    using database = new Database(join(directory, 'ncp.db'))
    expect(database.query('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
    expect(database.query('PRAGMA foreign_key_check').all()).toEqual([])
    const users = database.query<{ email: string }, []>('SELECT email FROM users ORDER BY email').all()
    return users.map(({ email }) => email)
  }

  function expectOld(directory: string): void {
    expect(emailsIn(directory)).toEqual(['admin@localhost', 'in-log@example.com', 'old@example.com'])
    expect(secretsIn(directory)).toEqual(secrets.old)
  }

  function expectRestored(): void {
    expect(emailsIn(here.inData())).toEqual(['admin@localhost', 'kept@example.com'])
    expect(secretsIn(here.inData())).toEqual(secrets.restored)
  }

  /** The old installation is beside it in one piece, and nothing else is left over. */
  function expectSetAside(): string {
    const [aside = ''] = readdirSync(here.inData()).filter((name) => name.startsWith('before-restore-'))
    expectOld(here.inData(aside))
    expect(readdirSync(here.inData()).sort()).toEqual(
      [aside, 'initial-admin-password', ...SECRETS, 'ncp.db', 'ncp.lock'].sort(),
    )
    return aside
  }

  test('at any step leaves the old data, or the restored data, or says how to continue', async () => {
    const outcomes: string[] = []
    for (const call of calls) {
      reset()
      const killed = await killBefore(call, restore(), { cwd: here.directory })
      expect([call, killed.exitCode]).toEqual([call, null])

      const { exitCode, stdout, stderr } = await here.run(['user', 'list', '--json', ...IN])
      if (exitCode === 0) {
        const emails = stdout.trim().split('\n')
        outcomes.push(emails.some((line) => line.includes('old@example.com')) ? 'old' : 'restored')
        if (outcomes.at(-1) === 'old') expectOld(here.inData())
        else expectRestored()
      } else {
        outcomes.push('unfinished')
        expect([call, stderr]).toEqual([call, expect.stringMatching(UNFINISHED)])
        for (const command of [
          ['serve', '--port', '0', '--no-tls'],
          ['migrate', 'status'],
          ['migrate', 'up'],
        ]) {
          const refused = await here.run([...command, ...IN])
          expect([command, refused.exitCode, refused.stderr]).toEqual([command, 1, stderr])
        }
        const [, named = ''] = UNFINISHED.exec(stderr) ?? []
        const again = await succeed('backup', 'restore', named, ...IN)
        expectRestored()
        expect(again).toContain(`the previous files are in data/${expectSetAside()};`)
      }
    }
    const inOrder = outcomes.filter((outcome, position) => outcome !== outcomes[position - 1])
    expect(inOrder).toEqual(['old', 'unfinished', 'restored'])
  })

  test('any number of times still completes once undisturbed, with the old data intact', async () => {
    reset()
    let attempts = 0
    // Each attempt has fewer files to move than the one before, and is let do one more.
    for (const call of calls.filter(({ name }) => name === 'rename')) {
      attempts++
      if ((await killBefore(call, restore(), { cwd: here.directory })).exitCode === 0) break
    }
    expect(attempts).toBeGreaterThan(4)
    expectRestored()
    expectSetAside()
  })

  test('completes even after the set-aside data was deleted', async () => {
    reset()
    const first = calls.find(({ name, args }) => name === 'rename' && args.includes('"data/restoring/'))
    if (!first) throw new Error('nothing comes into place')
    await killBefore({ ...first, ordinal: first.ordinal + 1 }, restore(), { cwd: here.directory })
    const [aside = ''] = readdirSync(here.inData()).filter((name) => name.startsWith('before-restore-'))
    rmSync(here.inData(aside), { recursive: true })
    await succeed('backup', 'restore', backup, ...IN)
    expectRestored()
  })
})
