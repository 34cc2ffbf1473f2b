/** The Authorization header as an attacker writes it: bytes that belong in no header, and a key that leaves no session. */
import { describe, expect, test } from 'bun:test'
import { storedRows } from '../harness/database.ts'
import { usePanel } from '../harness/panel.ts'
import { sendRaw } from '../harness/raw.ts'

const panel = await usePanel()
const ada = await panel.customer()
await panel.subscription(ada.id)
const key = await panel.key(ada.token)

const statusOf = (response: string) => Number(/^HTTP\/1\.1 (\d{3})/.exec(response)?.[1])

/** @see CVE-2026-41940: a line break in a Basic header wrote `tfa_verified=1` into the session file of cPanel */
describe('an Authorization header', () => {
  test.each<[string, string]>([
    ['Basic with a line break in its user', `Basic ${btoa('root\r\ntfa_verified=1:x')}`],
    ['Basic with a NUL in its user', `Basic ${btoa('root\0:x')}`],
    ['with a NUL', 'Bearer a\0b'],
    ['with a bare carriage return', 'Bearer a\rX-User-Id: 1'],
    ['with a bare line feed', 'Bearer a\nX-User-Id: 1'],
    ['folded over two lines', 'Bearer\r\n a.b.c'],
    ['with a tab', 'Bearer\ta.b.c'],
    ['with a vertical tab', 'Bearer \x0ba.b.c'],
    ['of bytes beyond ASCII', 'Bearer \xff\xfe\x80'],
    ['of 15 KB', `Bearer ${'a'.repeat(15_000)}`],
    ['of 100 KB', `Bearer ${'a'.repeat(100_000)}`],
  ])('%s gives no access and stores nothing', async (_, authorization) => {
    const before = storedRows(panel)
    const request = `GET /api/v1/auth/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\nConnection: close\r\n\r\n`
    const response = await sendRaw(panel.origin, Buffer.from(request, 'latin1'))
    // Bun itself refuses what is no HTTP at all, with 400, 431 or 505.
    expect([400, 401, 431, 505]).toContain(statusOf(response))
    expect(response).not.toContain(ada.email)
    expect(storedRows(panel)).toEqual(before)
  })

  test('with an incomplete credential is not completed from another header', async () => {
    const [half, rest] = [key.slice(0, 30), key.slice(30)]
    for (const headers of [
      { authorization: `Bearer ${half}`, 'x-authorization': rest },
      { authorization: 'Bearer', cookie: `token=${key}` },
      { 'proxy-authorization': `Bearer ${key}` },
      { 'x-forwarded-authorization': `Bearer ${key}` },
      { 'sec-websocket-protocol': `bearer, ${key}` },
    ] as Record<string, string>[]) {
      expect((await panel.send('GET', '/auth/me', { headers })).status).toBe(401)
    }
  })
})

/** @see Pterodactyl 1.7.0: a call with an API key left a session behind that outlived the key */
describe('a call with a key', () => {
  test('sets no cookie and starts no session', async () => {
    const before = storedRows(panel).sessions
    const answer = await panel.get('/sites', key)
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([200, null])
    expect(storedRows(panel).sessions).toEqual(before ?? [])
  })
})

/** @see RFC 6750 §5.3: tokens in URLs end up in logs and histories */
test('a login sets no cookie either, and forbids caching of its response', async () => {
  const body = { email: ada.email, password: 'correct horse battery staple' }
  const { status, headers } = await panel.send('POST', '/auth/login', { body })
  expect([status, headers.get('set-cookie'), headers.get('cache-control')]).toEqual([200, null, 'no-store'])
})
