/** `ncp node …` beside a running panel, and a node that is told by it, over the socket of the data directory. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { statSync } from 'node:fs'
import { type Installation, install, type RunningBinary } from '../../harness/binary.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

type Node = { id: number; name: string; subscriptions: number; version: string | null; drained_at: string | null }

let here: Installation
let panel: RunningBinary
beforeAll(async () => {
  here = await install()
  panel = await here.serve(['--no-tls'], { NCP_LIMIT_LOGIN: '1000' })
})
afterAll(() => here.remove())

const node = (...args: string[]) => here.run(['node', ...args, '--data', here.inData()])

async function done(...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await node(...args)
  expect([args, exitCode, stderr]).toEqual([args, 0, ''])
  return stdout.trim()
}

async function refused(code: number, message: string, ...args: string[]): Promise<void> {
  const { exitCode, stdout, stderr } = await node(...args)
  expect([args, exitCode, stdout]).toEqual([args, code, ''])
  expect(stderr).toContain(message)
}

const listed = async () => JSON.parse(await done('list', '--json')) as Node[]

/** As the agent asks, through the socket. */
const ask = (path: string, token: string, body?: object) =>
  fetch(`http://panel.local/api/v1/node${path}`, {
    unix: here.inData('node.sock'),
    method: body ? 'POST' : 'GET',
    ...(body && { body: JSON.stringify(body) }),
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
  })

const connect = (token: string) =>
  ask('/report', token, {
    sites: [],
    releases: [],
    removed_subscriptions: [],
    node: { held: null, orphans: [], highest_subscription_id: 0 },
    description: { version: '1.2.3', php_versions: ['8.2'], time: Date.now() },
  })

test('a node is added, connects, gets subscriptions, is drained, and is removed when nothing is on it', async () => {
  const token = await done('add', 'web-1')
  expect(token).toMatch(/^ncpn_[0-9a-f]{64}$/)
  await refused(1, 'A node with the name web-1 exists already', 'add', 'web-1')
  await refused(2, 'It must be 1 to 63 lower-case letters', 'add', 'Web_1')
  expect(await listed()).toMatchObject([{ name: 'web-1', subscriptions: 0, version: null }])

  // The panel has not been restarted.
  expect(statSync(here.inData('node.sock')).mode & 0o777).toBe(0o660)
  expect((await connect(token)).status).toBe(200)
  const as = (await panel.login('admin@localhost', here.adminPassword())).data.token
  const create = async () => {
    const body = { user_id: 1, name: 'Hosting' }
    return (await panel.send<{ id: number; node_id: number | null }>('POST', '/admin/subscriptions', { as, body })).data
  }
  const [row] = await listed()
  const subscription = await create()
  expect([subscription.node_id, row?.version]).toEqual([row?.id ?? 0, '1.2.3'])
  const state = (await (await ask('/state', token)).json()) as { data: { subscriptions: { id: number }[] } }
  expect(state.data.subscriptions.map(({ id }) => id)).toEqual([subscription.id])

  await done('drain', 'web-1')
  expect((await create()).node_id).toBeNull()
  await done('resume', 'web-1')
  await refused(1, 'The node web-1 serves a subscription', 'remove', 'web-1', '--yes')
  expect((await ask('/state', token)).status).toBe(200)

  await panel.send('DELETE', `/admin/subscriptions/${subscription.id}`, { as })
  await refused(1, 'has yet to remove what is left of deleted subscriptions', 'remove', 'web-1', '--yes')
  const removed = { sites: [], releases: [], removed_subscriptions: [subscription.id] }
  expect((await ask('/report', token, removed)).status).toBe(200)
  await done('remove', 'web-1', '--yes')
  expect((await ask('/state', token)).status).toBe(401)
  expect(await listed()).toEqual([])
  await refused(1, 'no node has the name web-1', 'remove', 'web-1', '--yes')
})

test('a node that was taken over is cut off, whatever is on it', async () => {
  const token = await done('add', 'web-2')
  await connect(token)
  const as = (await panel.login('admin@localhost', here.adminPassword())).data.token
  await panel.send('POST', '/admin/subscriptions', { as, body: { user_id: 1, name: 'Hosting' } })
  await done('remove', 'web-2', '--abandon', '--yes')
  expect((await ask('/state', token)).status).toBe(401)
})
