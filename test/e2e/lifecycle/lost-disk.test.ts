/** The compiled binary on a disk that fails to keep what is written: it confirms nothing more, says so, and ends. */
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { type Installation, install, type RunningBinary } from '../../harness/binary.ts'
import { canTrace, failSyncs } from '../../harness/strace.ts'
import { until } from '../../harness/until.ts'
import { withDiskThread, workaroundEnvironment } from '../../harness/workarounds.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

const NO_LIMITS = { NCP_LIMIT_USER: '1000000', NCP_LIMIT_LOGIN: '1000', NCP_LIMIT_ANONYMOUS: '1000000' }
const SERVE = ['--no-tls']
/** Long enough for a few requests beside it on a busy machine; nothing is asserted of it. */
const SLOW_MS = 3000

let here: Installation
const cleanUp: (() => unknown)[] = []
beforeEach(async () => {
  here = await install('ncp-lost-')
})
afterEach(async () => {
  for (const undo of cleanUp.splice(0).reverse()) await undo()
  await here.remove()
})

const logIn = async (panel: RunningBinary) => (await panel.login('admin@localhost', here.adminPassword())).data.token

const createKey = (panel: RunningBinary, as: string, name: string) =>
  panel.send<{ id: number }>('POST', '/auth/api-keys', { as, body: { name } })

async function keyNames(panel: RunningBinary, as: string): Promise<string[]> {
  const { status, data } = await panel.send<{ name: string }[]>('GET', '/auth/api-keys', { as })
  expect(status).toBe(200)
  return data.map(({ name }) => name)
}

async function breakDisk(panel: RunningBinary, options: Parameters<typeof failSyncs>[1] = {}): Promise<void> {
  cleanUp.push(await failSyncs(panel.pid, options))
}

describe.skipIf(!canTrace)('a disk that fails to store a change', () => {
  test('gets no further ones: changes are 503 at once, readiness fails, reads continue, and the panel ends', async () => {
    const panel = await here.serve(SERVE, { ...NO_LIMITS, ...withDiskThread })
    const as = await logIn(panel)
    expect((await createKey(panel, as, 'before')).status).toBe(201)
    await breakDisk(panel, { delayMs: SLOW_MS })
    const failing = createKey(panel, as, 'during')
    await until('its commit', async () => (await keyNames(panel, as)).includes('during'))
    // Keeps the panel from proving its disk, so that there is time to look.
    const other = new Database(here.inData('ncp.db'))
    other.run('BEGIN IMMEDIATE')
    const refused = await failing
    expect([refused.status, refused.error, refused.headers.get('retry-after'), refused.message]).toEqual([
      503,
      'service unavailable',
      '30',
      "The panel's disk failed: the change may or may not have been made; check before you repeat it",
    ])
    const next = await createKey(panel, as, 'next')
    expect([next.status, next.message]).toEqual([
      503,
      'The panel cannot write to its disk and accepts no changes; tell its operator',
    ])
    const readiness = await panel.request('/readyz?verbose')
    expect([readiness.status, ((await readiness.json()) as { message: string }).message]).toEqual([
      503,
      'Not ready: database is on a disk that failed to keep a change',
    ])
    expect(await keyNames(panel, as)).toEqual(['before', 'during'])
    other.close()

    expect(await panel.ended()).toBe(4)
    expect(panel.stderr()).toMatch(/"msg":"a sync failed[^"]*".*EIO/)
    expect(panel.stderr()).toMatch(/"msg":"the disk does not keep what is written\. The panel ends[^"]*Check the disk/)
  })

  test('and works again is written to after a restart, with every confirmed change', async () => {
    const panel = await here.serve(SERVE, NO_LIMITS)
    const as = await logIn(panel)
    expect((await createKey(panel, as, 'before')).status).toBe(201)
    await breakDisk(panel)
    expect((await createKey(panel, as, 'during')).status).toBe(503)
    expect(await panel.ended()).toBe(4)

    const again = await here.serve(SERVE, NO_LIMITS)
    const names = await keyNames(again, as)
    expect(names[0]).toBe('before')
    expect((await createKey(again, as, 'after')).status).toBe(201)
    expect(await keyNames(again, as)).toEqual([...names, 'after'])
    expect(await again.stop()).toBe(0)
    using database = new Database(here.inData('ncp.db'))
    expect(database.query('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  })

  test('confirms nothing it did not store in any other response: no replay, no "gone", no "taken", no empty change', async () => {
    const panel = await here.serve(SERVE, { ...NO_LIMITS, ...withDiskThread })
    const as = await logIn(panel)
    const gone = (await createKey(panel, as, 'gone')).data
    const create = (key: string) =>
      panel.request('/api/v1/admin/users', {
        method: 'POST',
        headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify({ email: 'ada@example.com', name: 'Ada', role: 'customer' }),
      })
    const setLimit = () => panel.send('PATCH', '/admin/settings', { as, body: { max_api_keys_per_user: 77 } })
    const remove = () => panel.send('DELETE', `/auth/api-keys/${gone.id}`, { as })
    // So that the thread is there that waits for the disk while others are answered.
    for (const name of ['a', 'b', 'c']) await createKey(panel, as, name)

    await breakDisk(panel, { delayMs: SLOW_MS })
    const first = [create('once'), setLimit(), remove()]
    await until('their commits', async () => {
      const users = await panel.send<{ email: string }[]>('GET', '/admin/users', { as })
      const settings = await panel.send<{ max_api_keys_per_user: number }>('GET', '/admin/settings', { as })
      return (
        users.data.some(({ email }) => email === 'ada@example.com') &&
        settings.data.max_api_keys_per_user === 77 &&
        !(await keyNames(panel, as)).includes('gone')
      )
    })
    const second = [create('once'), create('another'), setLimit(), remove()]
    const statuses = (await Promise.all([...first, ...second])).map(({ status }) => status)
    expect(statuses).toEqual(statuses.map(() => 503))
    expect(await panel.ended()).toBe(4)
  })

  test('at the end of a panel or a command gives the same exit code', async () => {
    const panel = await here.serve(SERVE)
    await breakDisk(panel)
    expect(await panel.stop()).toBe(4)
    expect(panel.stderr()).toContain('"msg":"the panel stopped before everything was written"')
    const command = Bun.spawnSync(
      [
        ...['strace', '-f', '-o', '/dev/null', '-e', 'trace=fsync,fdatasync'],
        ...['-e', 'inject=fsync,fdatasync:error=EIO', './ncp', 'user', 'list'],
      ],
      { cwd: here.directory, env: { PATH: '/usr/bin:/bin', NCP_CONFIG: '/dev/null', ...workaroundEnvironment } },
    )
    expect([command.exitCode, command.stdout.toString()]).toEqual([4, ''])
    expect(command.stderr.toString()).toMatch(/^ncp: the disk does not keep what is written to data\/ncp\.db \(EIO/)
  })
})
