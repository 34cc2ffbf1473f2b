/** What every answer says, and what none may say: headers on every status, no secret in any field, nothing of the inside. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { type Operation, operationsOf, type Schema } from '../harness/operations.ts'
import { type Customer, PASSWORD, startPanel, usePanel } from '../harness/panel.ts'

let operations: Operation[]
let ada: Customer
const panel = await usePanel()
beforeAll(async () => {
  operations = await operationsOf(panel)
  ada = await panel.customer()
  await panel.subscription(ada.id)
})

/** One request for each status that the panel gives. */
const requests: [status: number, path: string, init: (token: string) => RequestInit][] = [
  [200, '/api/v1/sites', (token) => ({ headers: { authorization: `Bearer ${token}` } })],
  [200, '/livez', () => ({})],
  [201, '/api/v1/sites', (token) => json(token, { domain: 'a.example' })],
  [400, '/api/v1/auth/login', () => json('', {})],
  [401, '/api/v1/sites', () => ({})],
  [403, '/api/v1/admin/users', (token) => ({ headers: { authorization: `Bearer ${token}` } })],
  [404, '/api/v1/nope', () => ({})],
  [405, '/api/v1/sites', () => ({ method: 'PUT' })],
  [409, '/api/v1/sites', (token) => json(token, { domain: 'a.example' })],
  [413, '/api/v1/auth/login', () => json('', { email: 'x'.repeat(100_000) })],
  [415, '/api/v1/auth/login', () => ({ method: 'POST', body: 'email=a', headers: { 'content-type': 'text/plain' } })],
  [422, '/api/v1/auth/login', () => json('', { email: 'x', password: 'x' })],
]
function json(token: string, body: object): RequestInit {
  const authorization = token === '' ? {} : { authorization: `Bearer ${token}` }
  return {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...authorization },
  }
}

function expectSafeHeaders(headers: Headers): void {
  expect(headers.get('strict-transport-security')).toBe('max-age=31536000')
  expect(headers.get('x-content-type-options')).toBe('nosniff')
  expect(headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  expect(headers.get('referrer-policy')).toBe('no-referrer')
  for (const name of headers.keys()) {
    expect(name).not.toMatch(/^access-control-|^set-cookie|^server$|^x-powered-by|^via$/)
  }
}

describe('every status', () => {
  test.each(requests)(
    '%i of %s carries the security headers, and no cookie, no CORS, no version',
    async (status, path, init) => {
      const response = await fetch(panel.origin + path, init(ada.token))
      expect(response.status).toBe(status)
      expectSafeHeaders(response.headers)
      expect(response.headers.get('cache-control')).toBe('no-store')
      expect(await response.text()).not.toMatch(/bun|elysia|sqlite|drizzle|\.ts\b|node_modules/i)
    },
  )

  test('429 carries them too, with Retry-After', async () => {
    const limited = await startPanel({ limitLogin: 1 })
    await fetch(`${limited.origin}/api/v1/auth/login`, json('', {}))
    const response = await fetch(`${limited.origin}/api/v1/auth/login`, json('', {}))
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '60'])
    expect(response.headers.get('cache-control')).toBe('no-store')
    expectSafeHeaders(response.headers)
    await limited.stop()
  })
})

/** @see RFC 6797: over plain HTTP the header means nothing, and on other names under the panel's there may be sites without TLS */
describe('Strict-Transport-Security', () => {
  test.each([
    [{}, 'max-age=31536000'],
    [{ hsts: 'host' }, 'max-age=31536000'],
    [{ hsts: 'subdomains' }, 'max-age=31536000; includeSubDomains'],
    [{ hsts: 'off' }, null],
    [{ tls: false }, null],
    [{ tls: false, hsts: 'subdomains' }, null],
  ] as const)('with %j is %j, on every response', async (settings, expected) => {
    const other = await startPanel(settings)
    for (const path of ['/livez', '/api/v1/sites', '/nope', '/api/docs']) {
      const { headers } = await fetch(other.origin + path)
      expect([path, headers.get('strict-transport-security')]).toEqual([path, expected])
    }
    await other.stop()
  })
})

/** @see aaPanel#74: a page of another site spoke to the panel through the browser of its administrator */
describe('a page of another origin', () => {
  const origins = ['https://evil.example', 'null', 'https://localhost.evil.example', 'http://127.0.0.1']

  test.each(origins)('%s gets no permission to read anything', async (origin) => {
    const headers = {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization',
    }
    for (const method of ['OPTIONS', 'GET']) {
      const response = await fetch(`${panel.origin}/api/v1/sites`, { method, headers })
      expect(response.status).toBe(method === 'GET' ? 401 : 405)
      expectSafeHeaders(response.headers)
    }
  })

  test('can send a form, which is 415 and changes nothing', async () => {
    for (const [contentType, body] of [
      ['application/x-www-form-urlencoded', 'email=a@b.c&password=x'],
      ['text/plain', JSON.stringify({ email: ada.email, password: PASSWORD })],
      ['multipart/form-data; boundary=x', '--x--'],
    ] as const) {
      const answer = await panel.send('POST', '/auth/login', {
        rawBody: body,
        headers: { 'content-type': contentType },
      })
      expect(answer.status).toBe(415)
    }
  })

  test('cannot open a WebSocket', async () => {
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': btoa('0123456789abcdef'),
    }
    for (const path of ['/', '/api/v1/sites', '/livez']) {
      expect((await fetch(panel.origin + path, { headers })).status).not.toBe(101)
    }
  })
})

/** @see one-api#2425, Coolify#6918: lists told members the tokens of root */
describe('the document', () => {
  /** The only secrets that an answer ever holds, each once, to the one who made it. */
  const SHOWN_ONCE = ['token', 'key', 'secret', 'otpauth_uri', 'qr_svg', 'recovery_codes']
  const GIVERS: Record<string, string[]> = {
    login: ['token'],
    createApiKey: ['key'],
    rotateApiKey: ['key'],
    rotateOwnApiKey: ['key'],
    createUser: ['token'],
    renewActivation: ['token'],
    setUpTwoFactor: ['secret', 'otpauth_uri', 'qr_svg'],
    enableTwoFactor: ['recovery_codes'],
    renewRecoveryCodes: ['recovery_codes'],
    rotateNodeToken: ['token'],
    // For the node that serves them: the tokens of challenges, which are public, and the keys of uploaded certificates.
    getNodeState: ['token', 'key'],
  }

  function* names(schema: Schema): Generator<string> {
    for (const [name, child] of Object.entries(schema.properties ?? {})) {
      yield name
      yield* names(child)
    }
    for (const child of schema.anyOf ?? []) yield* names(child)
    if (schema.items) yield* names(schema.items)
  }

  test('has a field for a secret only in the one response that shows it', () => {
    for (const { id, answers } of operations) {
      const found = answers.flatMap((schema) => [...names(schema)])
      expect(found.filter((name) => /hash|password|seed|sealed|jti|token_id/.test(name))).toEqual([])
      const secrets = found.filter((name) => SHOWN_ONCE.includes(name))
      expect([id, new Set(secrets)]).toEqual([id, new Set(GIVERS[id] ?? [])])
    }
  })

  test('names the fields of every object of every response, as the harness checks, except details of what happened', () => {
    function* unnamed(schema: Schema, path: string): Generator<string> {
      if (schema.type === 'object' && Object.keys(schema.properties ?? {}).length === 0) yield path
      for (const [name, child] of Object.entries(schema.properties ?? {})) yield* unnamed(child, `${path}.${name}`)
      for (const child of schema.anyOf ?? []) yield* unnamed(child, path)
      if (schema.items) yield* unnamed(schema.items, path)
    }
    expect(operations.flatMap(({ id, answers }) => answers.flatMap((schema) => [...unnamed(schema, id)]))).toEqual([
      'listEvents.data.details',
      'listSiteEvents.data.details',
      'listOwnAuditLog.data.details',
      'listAuditLog.data.details',
    ])
  })
})
