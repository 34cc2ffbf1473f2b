/** Two panels on one data directory: the second is refused, and commands beside the first are not. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { type Installation, install } from '../../harness/binary.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

let here: Installation
beforeEach(async () => {
  here = await install()
})
afterEach(() => here.remove())

const serve = () => here.run(['serve', '--port', '0', '--no-tls'])

test('a second panel is refused with an explanation, and the first continues', async () => {
  const panel = await here.serve(['--no-tls'])
  const { exitCode, stdout, stderr } = await serve()
  expect([exitCode, stdout, stderr]).toEqual([
    1,
    '',
    'ncp: another panel is using data: stop it first, or give this one its own directory with --data\n',
  ])
  expect((await panel.login('admin@localhost', here.adminPassword())).status).toBe(200)
  expect(await panel.stop()).toBe(0)
})

test('commands work beside a running panel', async () => {
  const panel = await here.serve(['--no-tls'])
  expect((await here.run(['user', 'create', '--email', 'ada@example.com', '--name', 'Ada'])).exitCode).toBe(0)
  expect((await here.run(['user', 'list'])).stdout).toContain('ada@example.com')
  expect((await here.run(['backup', 'create'])).exitCode).toBe(0)
  expect(await panel.stop()).toBe(0)
})

test.each(['SIGTERM', 'SIGKILL'] as const)(
  'the next panel starts once the previous one has ended by %s',
  async (signal) => {
    const panel = await here.serve(['--no-tls'])
    panel.signal(signal)
    await panel.ended()
    expect(await (await here.serve(['--no-tls'])).stop()).toBe(0)
  },
)
