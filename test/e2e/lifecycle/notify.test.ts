/** What the compiled panel tells a service manager, on a real notify socket. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { probe } from '../../../src/db/probe.ts'
import { openStore } from '../../../src/db/sqlite/store.ts'
import { startHeartbeat } from '../../../src/lifecycle/heartbeat.ts'
import { type Installation, install } from '../../harness/binary.ts'
import { createTestLog } from '../../harness/log.ts'
import { type NotifySocket, openNotifySocket } from '../../harness/notify-socket.ts'
import { until } from '../../harness/until.ts'
import { allWorkarounds, mapsIndex } from '../../harness/workarounds.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

let here: Installation
let socket: NotifySocket | undefined
beforeAll(async () => {
  here = await install()
})
afterEach(() => {
  socket?.close()
  socket = undefined
})
afterAll(() => here.remove())

const beats = ({ messages }: NotifySocket) => messages().filter((message) => message === 'WATCHDOG=1').length

describe.each(['a path', 'an abstract name'])('on %s', (kind) => {
  test('reports its start, its reload and its end', async () => {
    const address = kind === 'a path' ? here.path('notify') : `@ncp-test-${process.pid}`
    socket = openNotifySocket(address)
    const { messages } = socket
    const panel = await here.serve([], { ...allWorkarounds, NOTIFY_SOCKET: address })
    const ready = `READY=1\nSTATUS=serving on ${panel.origin}`
    expect(messages()).toEqual([ready])

    panel.signal('SIGHUP')
    await until('the second READY', () => messages().length === 3)
    expect(messages()[1]).toMatch(/^RELOADING=1\nMONOTONIC_USEC=\d+$/)
    // The same clock as this process has: within the time that the machine has been up.
    const [uptime = ''] = (await Bun.file('/proc/uptime').text()).split(' ')
    const toldSeconds = Number(messages()[1]?.split('=').at(-1)) / 1e6
    expect(Math.abs(Number(uptime) - toldSeconds)).toBeLessThan(60)
    expect(messages()[2]).toBe(ready)

    expect(await panel.stop()).toBe(0)
    expect(messages().slice(3)).toEqual(['STOPPING=1\nSTATUS=finishing the requests in flight'])
  })
})

test('is silent when the start fails', async () => {
  socket = openNotifySocket(here.path('silent'))
  const running = await here.serve()
  const environment = { ...allWorkarounds, NOTIFY_SOCKET: here.path('silent') }
  const { exitCode } = await here.run(['serve', '--data', 'second', '--port', `${running.port}`], { environment })
  expect([exitCode, socket.messages()]).toEqual([1, []])
  await running.stop()
})

test('is silent when it is turned off, and the log names what the unit needs', async () => {
  socket = openNotifySocket(here.path('off'))
  const panel = await here.serve([], { NOTIFY_SOCKET: here.path('off'), NCP_DISABLE_WORKAROUNDS: 'notify' })
  expect(panel.stderr()).toContain('Its unit needs Type=exec and WatchdogSec=0')
  expect(await panel.stop()).toBe(0)
  expect(socket.messages()).toEqual([])
})

test('refuses an invalid address', async () => {
  const { exitCode, stderr } = await here.run(['serve', '--port', '0'], {
    environment: { ...allWorkarounds, NOTIFY_SOCKET: 'notify' },
  })
  expect(stderr).toEndWith('ncp: NOTIFY_SOCKET: must be a path, or a name after @\n')
  expect(exitCode).toBe(1)
})

describe('a watchdog', () => {
  const WATCHDOG_USEC = '400000'

  test('is fed while all is well, and not by a hung process', async () => {
    socket = openNotifySocket(here.path('watchdog'))
    const fed = socket
    const panel = await here.serve([], { ...allWorkarounds, NOTIFY_SOCKET: here.path('watchdog'), WATCHDOG_USEC })
    await until('signs of life', () => beats(fed) >= 3)
    panel.signal('SIGSTOP')
    // Whatever was under way has arrived by the time that the process stands.
    await until('standstill', async () => / T /.test(await Bun.file(`/proc/${panel.pid}/stat`).text()))
    const before = beats(fed)
    await Bun.sleep(Number(WATCHDOG_USEC) / 1000)
    expect(beats(fed)).toBe(before)
    panel.signal('SIGCONT')
    await until('signs of life', () => beats(fed) >= before + 2)
    expect(await panel.stop()).toBe(0)
  })

  test('of another process is not fed', async () => {
    socket = openNotifySocket(here.path('other'))
    const environment = {
      ...allWorkarounds,
      NOTIFY_SOCKET: here.path('other'),
      WATCHDOG_USEC: '20000',
      WATCHDOG_PID: '1',
    }
    const panel = await here.serve([], environment)
    for (let request = 0; request < 20; request++) await panel.request('/livez')
    expect(beats(socket)).toBe(0)
    await panel.stop()
  })

  test('is not fed while a write hangs, or while the event loop is late', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'ncp-heartbeat-'))
    const store = openStore(join(directory, 'ncp.db'), 0, { mapsIndex })
    const log = createTestLog()
    let count = 0
    const end = startHeartbeat({ watchdogMs: 40, probe: () => probe(store), beat: () => count++, log })
    await until('signs of life', () => count > 2)

    const hanging = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const write = store.write(() => {
      begun.resolve()
      return hanging.promise
    })
    // The probes before it are over by now, and their beats with the next turn of the event loop.
    await begun.promise
    await Bun.sleep(0)
    const before = count
    await Bun.sleep(100)
    expect(count).toBe(before)
    hanging.resolve()
    await write
    await until('signs of life', () => count > before)

    const late = performance.now() + 50
    while (performance.now() < late);
    await until('the warning', () => log.text().includes('the event loop is late'))
    end()
    await store.close()
    rmSync(directory, { recursive: true })
  })
})
