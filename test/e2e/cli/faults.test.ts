/** The compiled binary when what is beneath it fails: it says so clearly, loses nothing, and goes on afterwards. */
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { closeSync, copyFileSync, openSync, readdirSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { type Installation, install, type RunningBinary } from '../../harness/binary.ts'
import { canFakeTime, canMount, makeReadOnly, smallDisk, wrongClock } from '../../harness/faults.ts'
import { startSmtp } from '../../harness/smtp.ts'
import { until } from '../../harness/until.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

const ADMIN = 'admin@localhost'
const PLAIN = ['--no-tls']
const NO_LIMITS = { NCP_LIMIT_USER: '1000000', NCP_LIMIT_LOGIN: '1000', NCP_LIMIT_ANONYMOUS: '1000000' }

const mailFrom = (port: number) => ({
  NCP_SMTP_URL: `smtp://127.0.0.1:${port}`,
  NCP_MAIL_FROM: 'panel@example.com',
  NCP_PUBLIC_URL: 'https://panel.example.com',
})

let here: Installation
const cleanUp: (() => void)[] = []
beforeEach(async () => {
  here = await install()
})
afterEach(async () => {
  for (const undo of cleanUp.splice(0).reverse()) undo()
  await here.remove()
})

async function loggedIn(panel: RunningBinary, password = here.adminPassword()): Promise<string> {
  const { status, data } = await panel.login(ADMIN, password)
  expect(status).toBe(200)
  return data.token
}
const createKey = (panel: RunningBinary, as: string, name: string) =>
  panel.send<{ id: number; key: string }>('POST', '/auth/api-keys', { as, body: { name } })
async function keyNames(panel: RunningBinary, as: string): Promise<string[]> {
  const { status, data } = await panel.send<{ name: string }[]>('GET', '/auth/api-keys?limit=1000', { as })
  expect(status).toBe(200)
  return data.map(({ name }) => name)
}
async function refusal(...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await here.run(args)
  expect([args, exitCode, stdout]).toEqual([args, 1, ''])
  // One line for people; a stack trace names functions and files.
  expect(stderr).not.toMatch(/^\s+at |\$bunfs|\.ts:\d/m)
  return stderr
}
const start = (...args: string[]) => refusal('serve', '--port', '0', ...PLAIN, ...args)

describe.skipIf(!canMount)('a full disk', () => {
  const IN = ['--data', 'disk/data']
  const password = () => here.read('disk', 'data', 'initial-admin-password').trim()

  test('stops writes with 503 and nothing else, and loses none that was acknowledged', async () => {
    const disk = smallDisk(here.path('disk'), 40)
    cleanUp.push(disk.unmount)
    const panel = await here.serve([...PLAIN, ...IN], NO_LIMITS)
    const as = await loggedIn(panel, password())
    const kept: string[] = []
    for (let count = 0; count < 5; count++)
      if ((await createKey(panel, as, `before${count}`)).status === 201) kept.push(`before${count}`)
    disk.fill()

    let refused = await createKey(panel, as, 'first')
    for (let count = 0; refused.status === 201; count++) {
      kept.push(count === 0 ? 'first' : `filling${count - 1}`)
      refused = await createKey(panel, as, `filling${count}`)
    }
    expect([refused.status, refused.error, refused.headers.get('retry-after'), refused.message]).toEqual([
      503,
      'service unavailable',
      '30',
      "The panel's disk is full; ask its operator to free some space",
    ])
    // What only reads goes on, also the list that would like to write down the last use first.
    expect(await keyNames(panel, as)).toEqual(kept)
    expect((await panel.send('GET', '/auth/me', { as })).status).toBe(200)
    const readiness = await panel.request('/readyz')
    expect([readiness.status, ((await readiness.json()) as { message: string }).message]).toEqual([
      503,
      'Not ready: disk is full',
    ])
    expect(panel.stderr()).toMatch(/"msg":"the database failed".*"message":"database or disk is full"/)

    disk.empty()
    expect((await createKey(panel, as, 'after')).status).toBe(201)
    expect((await panel.request('/readyz?verbose')).status).toBe(200)
    expect(await panel.stop()).toBe(0)
    const again = await here.serve([...PLAIN, ...IN], NO_LIMITS)
    expect(await keyNames(again, as)).toEqual([...kept, 'after'])
    await again.stop()
    using database = new Database(here.path('disk', 'data', 'ncp.db'))
    expect(database.query('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  })

  test('loses no password reset requested during it', async () => {
    const smtp = await startSmtp()
    const disk = smallDisk(here.path('disk'), 40)
    cleanUp.push(disk.unmount)
    const environment = { ...mailFrom(smtp.at().port), NCP_ADMIN_EMAIL: 'root@example.com' }
    const panel = await here.serve([...PLAIN, ...IN], environment)
    disk.fill()
    const answer = await panel.send('POST', '/auth/password-reset', { body: { email: 'root@example.com' } })
    expect(answer.status).toBe(200)
    await until('the failure', () => panel.stderr().includes('a password reset could not be written'))
    disk.empty()
    await until('the email', () => smtp.to('root@example.com').length > 0)
    await panel.stop()
    await smtp.stop()
  })

  test('is reported at the first start, which works once there is room', async () => {
    const disk = smallDisk(here.path('disk'), 8)
    cleanUp.push(disk.unmount)
    disk.fill()
    expect(await start(...IN)).toBe('ncp: the disk is full: free some space for disk/data/ncp.db\n')
    disk.empty()
    const panel = await here.serve([...PLAIN, ...IN], NO_LIMITS)
    await loggedIn(panel, password())
    await panel.stop()
  })

  test('allows no backup, and leaves no partial one', async () => {
    const disk = smallDisk(here.path('disk'), 40)
    cleanUp.push(disk.unmount)
    await (await here.serve([...PLAIN, ...IN])).stop()
    expect(await refusal('backup', 'create', ...IN)).toMatch(
      /^ncp: not enough space for a backup in disk\/data\/backups: \d+ MB free, \d+ MB needed\n$/,
    )
    expect(readdirSync(here.path('disk', 'data', 'backups'))).toEqual([])
  })

  test('under the log costs log lines, and nothing else', async () => {
    const disk = smallDisk(here.path('disk'), 2)
    cleanUp.push(disk.unmount)
    const panel = await here.serve(PLAIN, { ...NO_LIMITS, NCP_LOG_FILE: 'disk/ncp.log' })
    disk.fill()
    for (let count = 0; count < 50; count++) expect((await panel.request('/nowhere')).status).toBe(404)
    expect((await createKey(panel, await loggedIn(panel), 'written')).status).toBe(201)
    disk.empty()
    expect(await panel.stop()).toBe(0)
    expect(here.read('disk', 'ncp.log')).toContain('"route":"/api/v1/auth/api-keys"')
  })
})

describe.skipIf(!canMount)('a data directory that cannot be written to', () => {
  test('is reported, to a panel and to a command', async () => {
    await (await here.serve(PLAIN)).stop()
    cleanUp.push(makeReadOnly(here.inData()))
    const message =
      /^ncp: data\/ncp\.db cannot be written \((EROFS|SQLITE_READONLY\w*)\): the data directory must belong to the user that the panel runs as\n$/
    expect(await start()).toMatch(message)
    expect(await refusal('user', 'list')).toMatch(message)
  })
})

describe('a database that another program has locked', () => {
  test('is still read; writes wait, then get 503, and continue afterwards', async () => {
    const panel = await here.serve(PLAIN, NO_LIMITS)
    const as = await loggedIn(panel)
    using other = new Database(here.inData('ncp.db'))
    // The panel may be writing by itself.
    other.run('PRAGMA busy_timeout = 60000')
    other.run('BEGIN IMMEDIATE')
    const waiting = createKey(panel, as, 'too late')
    expect((await panel.send('GET', '/sites', { as })).status).toBe(200)
    const refused = await waiting
    expect([refused.status, refused.error, refused.headers.get('retry-after')]).toEqual([
      503,
      'service unavailable',
      '2',
    ])
    const patient = createKey(panel, as, 'patient')
    other.run('ROLLBACK')
    expect((await patient).status).toBe(201)
    expect(await keyNames(panel, as)).toEqual(['patient'])
  })

  test('exclusively is reported at the start', async () => {
    await (await here.serve(PLAIN)).stop()
    using other = new Database(here.inData('ncp.db'))
    other.run('PRAGMA locking_mode = EXCLUSIVE')
    other.run('BEGIN EXCLUSIVE')
    expect(await start()).toBe('ncp: data/ncp.db is locked by another program: stop that program first\n')
  })
})

describe('a database that is', () => {
  beforeEach(async () => {
    await (await here.serve(PLAIN)).stop()
    copyFileSync(here.inData('ncp.db'), here.path('good.db'))
  })
  const RESTORE = "restore a backup with 'ncp backup restore'"

  test('not a database is reported, and left unchanged', async () => {
    const text = 'not a database, but long enough to be read as if it were one. '.repeat(100)
    writeFileSync(here.inData('ncp.db'), text)
    expect(await start()).toBe(`ncp: data/ncp.db is damaged (file is not a database): ${RESTORE}\n`)
    expect(here.read('data', 'ncp.db')).toBe(text)
  })

  test('damaged inside is reported at the start, and can be replaced by a backup', async () => {
    expect((await here.run(['backup', 'create'])).exitCode).toBe(0)
    overwritePages(here.inData('ncp.db'))
    expect(await start()).toBe(`ncp: data/ncp.db is damaged (database disk image is malformed): ${RESTORE}\n`)
    const refused = await here.run(['backup', 'create'])
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringMatching(/malformed|damaged/)])
    const [name = ''] = readdirSync(here.inData('backups'))
    expect((await here.run(['backup', 'restore', name])).exitCode).toBe(0)
    const panel = await here.serve(PLAIN)
    await loggedIn(panel)
    await panel.stop()
  })

  test.each(['gone', 'empty'])('%s is not silently replaced by a new one', async (how) => {
    rmSync(here.inData('ncp.db'))
    if (how === 'empty') writeFileSync(here.inData('ncp.db'), '')
    const message = `ncp: data/ncp.db is gone, or empty: ${RESTORE}\n`
    expect(await start()).toBe(message)
    const password = here.adminPassword()
    copyFileSync(here.path('good.db'), here.inData('ncp.db'))
    const panel = await here.serve(PLAIN)
    await loggedIn(panel, password)
    await panel.stop()
  })
})

/** All but the first page, which says that it is a database. */
function overwritePages(path: string): void {
  const file = openSync(path, 'r+')
  for (let at = 4096; at < statSync(path).size; at += 4096) writeSync(file, Buffer.alloc(4096, 0x55), 0, 4096, at)
  closeSync(file)
}

describe('a secret that is', () => {
  test('missing while the database holds seeds is reported, and not recreated', async () => {
    await (await here.serve(PLAIN)).stop()
    rmSync(here.inData('totp.key'))
    expect(await start()).toBe('ncp: the secret data/totp.key is missing: restore it from a backup\n')
    expect(readdirSync(here.inData())).not.toContain('totp.key')
  })
})

describe.skipIf(!canFakeTime)('a clock that', () => {
  test('is set back a day neither locks users out nor ends a session', async () => {
    const clock = wrongClock(here.path('clock'))
    const panel = await here.serve(PLAIN, { ...clock.environment, NCP_LIMIT_LOGIN: '3' })
    const as = await loggedIn(panel)
    for (let count = 0; count < 3; count++) await panel.login(ADMIN, 'wrong')
    expect((await panel.login(ADMIN, 'wrong')).status).toBe(429)
    clock.set('-1d')
    const limited = await panel.login(ADMIN, here.adminPassword())
    expect(limited.status).toBe(200)
    // Within a minute of what the clock says now.
    expect(Number(limited.headers.get('x-ratelimit-reset')) * 1000).toBeLessThan(Date.now() - 23 * 3_600_000)
    expect((await panel.send('GET', '/auth/me', { as })).status).toBe(200)
    const key = await createKey(panel, as, 'made in the past')
    expect(key.status).toBe(201)
    expect((await panel.send('GET', '/sites', { as: key.data.key })).status).toBe(200)
    clock.set('+0')
    for (const credential of [as, key.data.key]) {
      expect((await panel.send('GET', '/sites', { as: credential })).status).toBe(200)
    }
    await panel.stop()
  })

  test('jumps ahead and back ends what expired in between, and deletes no key, site or audit entry', async () => {
    const clock = wrongClock(here.path('clock'))
    const panel = await here.serve(PLAIN, { ...clock.environment, ...NO_LIMITS })
    const as = await loggedIn(panel)
    const { data } = await createKey(panel, as, 'lasting')
    clock.set('+2y')
    expect((await panel.send('GET', '/auth/me', { as })).status).toBe(401)
    expect((await panel.send('GET', '/sites', { as: data.key })).status).toBe(200)
    await loggedIn(panel)
    clock.set('+0')
    expect((await panel.send('GET', '/sites', { as: data.key })).status).toBe(200)
    expect(await keyNames(panel, await loggedIn(panel))).toEqual(['lasting'])
    await panel.stop()
    expect((await here.run(['audit', 'verify'])).exitCode).toBe(0)
  })
})

describe('an unreachable mail server', () => {
  test('delays its emails and nothing else, even across a restart', async () => {
    const smtp = await startSmtp()
    const { port } = smtp.at()
    await smtp.stop()
    const panel = await here.serve(PLAIN, { ...mailFrom(port), NCP_ADMIN_EMAIL: 'root@example.com' })
    const answer = await panel.send('POST', '/auth/password-reset', { body: { email: 'root@example.com' } })
    expect(answer.status).toBe(200)
    await until('the line in the log', () => /"msg":"email not sent[^"]*".*ECONNREFUSED/.test(panel.stderr()))
    await panel.stop()

    const back = await startSmtp()
    using database = new Database(here.inData('ncp.db'))
    // As if the half minute until the next attempt were over.
    database.run('UPDATE jobs SET next_attempt_at = 0')
    const again = await here.serve(PLAIN, mailFrom(back.at().port))
    await until('the email', () => back.to('root@example.com').length > 0)
    await again.stop()
    await back.stop()
  })
})

describe('file descriptors that run out', () => {
  test('keep new connections waiting, while open ones and the database keep working', async () => {
    const panel = await here.serve(PLAIN, NO_LIMITS)
    const as = await loggedIn(panel)
    const connections: Socket[] = []
    const openFiles = () => readdirSync(`/proc/${panel.pid}/fd`).length
    const most = openFiles() + 20
    expect(Bun.spawnSync(['prlimit', '--pid', `${panel.pid}`, `--nofile=${most}:${most}`]).exitCode).toBe(0)
    for (let count = 0; count < 100; count++)
      connections.push(connect(panel.port, '127.0.0.1').on('error', () => undefined))
    await until('the last descriptor to be taken', () => openFiles() >= most - 1)
    // On the connection that is kept alive from before.
    for (let count = 0; count < 5; count++) expect((await createKey(panel, as, `key${count}`)).status).toBe(201)
    for (const connection of connections) connection.destroy()
    await until('the descriptors to be free', () => openFiles() < most - 10)
    const fresh = await fetch(`${panel.origin}/readyz`, { headers: { connection: 'close' } })
    expect(fresh.status).toBe(200)
    expect(await keyNames(panel, as)).toHaveLength(5)
    expect(await panel.stop()).toBe(0)
  })
})
