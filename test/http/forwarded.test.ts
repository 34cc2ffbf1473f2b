/** The client behind a trusted proxy, in every notation that proxies write. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { createTestLog } from '../harness/log.ts'
import { type Panel, startPanel } from '../harness/panel.ts'

const log = createTestLog()
let panel: Panel
beforeEach(async () => {
  log.lines.length = 0
  panel = await startPanel({ limitLogin: 2 }, log)
})
afterEach(() => panel.stop())

const logIn = (from: string) =>
  panel.send('POST', '/auth/login', { body: { email: 'nobody@example.com', password: 'wrong password' }, from })
const warnings = () => log.lines.filter(({ msg }) => `${msg}`.includes('X-Forwarded-For'))

test('has its own limit, whatever port or brackets the proxy adds', async () => {
  for (const from of [
    '203.0.113.7:50001',
    '203.0.113.7:50002',
    '[2001:db8::7]:443',
    '[2001:db8::7]',
    '64:ff9b::808:404',
  ]) {
    expect([from, (await logIn(from)).status]).toEqual([from, 401])
  }
  // The third of 203.0.113.7, and of the network of 2001:db8::7.
  for (const from of ['203.0.113.7,', '203.0.113.7', '2001:db8::8'])
    expect([from, (await logIn(from)).status]).toEqual([from, 429])
  expect((await logIn('8.8.4.4')).status).toBe(401)
  expect((await logIn('8.8.4.4')).status).toBe(429)
  expect(warnings()).toEqual([])
})

test('that the proxy cannot name shares one limit, whatever address it claims, and the operator is warned once', async () => {
  for (const [claim, status] of [
    ['203.0.113.1', 401],
    ['203.0.113.2', 401],
    ['203.0.113.3', 429],
  ] as const) {
    expect((await logIn(`${claim}, unix:`)).status).toBe(status)
  }
  expect(warnings()).toEqual([
    { proxy: '127.0.0.1', entry: 'unix:', msg: expect.stringContaining('docs/operations/proxy.md') },
  ])
})

test('that the proxy cannot name may not use a key limited to the proxy’s address', async () => {
  const ada = await panel.customer()
  const key = await panel.key(ada.token, { allowed_cidrs: ['127.0.0.0/8'] })
  expect((await panel.send('GET', '/auth/me', { as: key })).status).toBe(200)
  const refused = await panel.send('GET', '/auth/me', { as: key, from: '127.0.0.5, unknown' })
  expect([refused.status, refused.error]).toEqual([403, 'ip_not_allowed'])
})
