/** An acknowledged write survives a power cut: the log was on the disk before the answer was sent. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { type Installation, install } from '../../harness/binary.ts'
import { canTrace, watchCalls } from '../../harness/strace.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

const WRITES = 40
const LOG = /ncp\.db-wal>/

let here: Installation
afterAll(() => here?.remove())

describe.skipIf(!canTrace)('a write is on the disk before it is acknowledged', () => {
  test.each([
    ['by a thread that waits for the disk while the event loop goes on', ''],
    ['by the event loop itself, where the thread is turned off', 'disk-thread'],
    ['by the event loop itself, where all workarounds are turned off', 'all'],
  ])('%s', async (_, NCP_DISABLE_WORKAROUNDS) => {
    here = await install('ncp-durable-')
    const panel = await here.serve(['--no-tls'], { NCP_DISABLE_WORKAROUNDS })
    const as = (await panel.login('admin@localhost', here.adminPassword())).data.token
    const stop = await watchCalls(panel.pid, 'pwrite64,fdatasync,fsync,sendto')
    for (let i = 0; i < WRITES; i++) {
      const body = { email: `user-${i}@example.com`, name: 'User', role: 'customer' }
      expect((await panel.send('POST', '/admin/users', { as, body })).status).toBe(201)
    }
    const lines = await stop()

    let byEventLoop = 0
    const syncing = new Map<string, number>()
    let acknowledged = 0
    let writtenAt = 0
    let syncedFrom = -1
    for (const [at, line] of lines.entries()) {
      const [thread = ''] = line.split(' ')
      if (/pwrite64\(/.test(line) && LOG.test(line)) writtenAt = at
      if (/f(data)?sync\(/.test(line) && LOG.test(line)) syncing.set(thread, at)
      if (/f(data)?sync(\(| resumed)/.test(line) && line.endsWith('= 0') && syncing.has(thread)) {
        syncedFrom = syncing.get(thread) ?? -1
        syncing.delete(thread)
        if (thread === `${panel.pid}`) byEventLoop++
      }
      if (/sendto\(.*HTTP\/1\.1 201/.test(line)) {
        expect(syncedFrom).toBeGreaterThan(writtenAt)
        acknowledged++
      }
    }
    expect(acknowledged).toBe(WRITES)
    // The event loop answers others while the thread waits. It waits itself only for the first of many writes.
    if (NCP_DISABLE_WORKAROUNDS === '') expect(byEventLoop).toBeLessThan(WRITES / 2)
    else expect(byEventLoop).toBeGreaterThanOrEqual(WRITES)
    await here.remove()
  })
})
