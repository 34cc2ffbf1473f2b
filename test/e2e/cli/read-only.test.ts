/** The compiled binary on a file system that turned read-only: reads are served, nothing is lost, nothing is left half done. */
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync } from 'node:fs'
import { type Installation, install, type RunningBinary } from '../../harness/binary.ts'
import { canFailDisk, failingDisk } from '../../harness/faults.ts'
import { canTrace, refuseWrites } from '../../harness/strace.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

const NO_LIMITS = { NCP_LIMIT_USER: '1000000', NCP_LIMIT_LOGIN: '1000', NCP_LIMIT_ANONYMOUS: '1000000' }
const SERVE = ['--no-tls', '--data', 'disk/data']
const BEFORE = ['before0', 'before1', 'before2']

let here: Installation
const cleanUp: (() => unknown)[] = []
beforeEach(async () => {
  here = await install()
})
afterEach(async () => {
  for (const undo of cleanUp.splice(0).reverse()) await undo()
  await here.remove()
})

const createKey = (panel: RunningBinary, as: string, name: string) =>
  panel.send('POST', '/auth/api-keys', { as, body: { name } })

/** @returns a session, with keys made in it */
async function fill(panel: RunningBinary): Promise<string> {
  const password = here.read('disk', 'data', 'initial-admin-password').trim()
  const as = (await panel.login('admin@localhost', password)).data.token
  for (const name of BEFORE) expect((await createKey(panel, as, name)).status).toBe(201)
  return as
}

async function expectOnlyReads(panel: RunningBinary, as: string): Promise<void> {
  for (let count = 0; count < 10; count++) {
    const refused = await createKey(panel, as, `refused${count}`)
    expect([refused.status, refused.data, refused.message, refused.headers.get('retry-after')]).toEqual([
      503,
      null,
      'The panel cannot use its disk; tell its operator',
      '30',
    ])
    await expectKeys(panel, as, BEFORE)
    expect((await panel.send('GET', '/sites', { as })).status).toBe(200)
  }
  expect((await panel.request('/livez')).status).toBe(200)
  // Told once, and not for each of them.
  expect(panel.stderr().match(/"msg":"the database failed".*"code":"SQLITE_IOERR_WRITE"/g)).toHaveLength(1)
  expect(panel.stderr().match(/"msg":"the last use of credentials was not written"/g)).toHaveLength(1)
}

async function expectKeys(panel: RunningBinary, as: string, names: string[]): Promise<void> {
  const { status, data } = await panel.send<{ name: string }[]>('GET', '/auth/api-keys?limit=1000', { as })
  expect([status, data.map(({ name }) => name)]).toEqual([200, names])
}

async function readiness(panel: RunningBinary): Promise<[number, string]> {
  const answer = await panel.request('/readyz?verbose')
  return [answer.status, ((await answer.json()) as { message: string }).message]
}

function expectWhole(): void {
  using database = new Database(here.path('disk', 'data', 'ncp.db'))
  expect(database.query('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
}

describe.skipIf(!canFailDisk)('a file system that goes read-only', () => {
  test('is still read from, fails readiness, and has every acknowledged write once it is repaired', async () => {
    const disk = failingDisk(here.path('disk'))
    cleanUp.push(disk.unmount)
    const panel = await here.serve(SERVE, NO_LIMITS)
    const as = await fill(panel)
    expect((await readiness(panel))[0]).toBe(200)

    disk.fail()
    await expectOnlyReads(panel, as)
    expect(await readiness(panel)).toEqual([503, 'Not ready: disk cannot be written'])
    // It is unknown how much of the log is on the disk, and what was kept in memory cannot be written.
    expect(await panel.stop()).toBe(4)
    expect(panel.stderr()).toContain('"msg":"the panel stopped before everything was written"')
    const { exitCode, stderr } = await here.run(['serve', '--port', '0', ...SERVE])
    expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/cannot be (read or )?written/)])

    disk.repair()
    const again = await here.serve(SERVE, NO_LIMITS)
    await expectKeys(again, as, BEFORE)
    expect((await createKey(again, as, 'after')).status).toBe(201)
    expect((await readiness(again))[0]).toBe(200)
    expect(await again.stop()).toBe(0)
    expectWhole()
  })
})

describe.skipIf(!canTrace)('a file system that becomes writable again', () => {
  test('is written to again, without a restart', async () => {
    mkdirSync(here.path('disk'))
    const panel = await here.serve(SERVE, NO_LIMITS)
    const as = await fill(panel)
    const takeWrites = await refuseWrites(panel.pid)
    cleanUp.push(takeWrites)
    await expectOnlyReads(panel, as)

    await takeWrites()
    expect((await createKey(panel, as, 'after')).status).toBe(201)
    await expectKeys(panel, as, [...BEFORE, 'after'])
    expect(await panel.stop()).toBe(0)
    expectWhole()
    const again = await here.serve(SERVE, NO_LIMITS)
    await expectKeys(again, as, [...BEFORE, 'after'])
    expect(await again.stop()).toBe(0)
  })
})
