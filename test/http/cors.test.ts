/** Pages of other origins: only those that the operator names may call, and they may read every answer. */
import { Database } from 'bun:sqlite'
import { afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { type Panel, startPanel, usePanel } from '../harness/panel.ts'

const APP = 'https://app.example.com'
const DEVELOPMENT = 'http://localhost:5173'

let token: string
let limited: Panel | undefined
const panel = await usePanel({ corsOrigins: [APP, DEVELOPMENT], maxBodyBytes: 1024 })
beforeAll(async () => {
  const ada = await panel.customer()
  token = ada.token
  await panel.subscription(ada.id)
})
afterEach(async () => {
  await limited?.stop()
  limited = undefined
})

type Init = { method?: string; headers?: Record<string, string>; body?: string }

function from(origin: string | undefined, path: string, { method, headers, body }: Init = {}, to = panel) {
  return fetch(`${to.origin}${path}`, {
    ...(method && { method }),
    ...(body && { body }),
    headers: { ...(origin && { origin }), ...headers },
  })
}

function preflight(origin: string, path: string, method: string, to = panel): Promise<Response> {
  const headers = { 'access-control-request-method': method, 'access-control-request-headers': 'authorization' }
  return from(origin, path, { method: 'OPTIONS', headers }, to)
}

const corsHeadersOf = ({ headers }: Response) =>
  [...headers.keys()].filter((name) => name.startsWith('access-control-'))
const json = { 'content-type': 'application/json' }

describe('a response to a page of an allowed origin', () => {
  test.each<[number, string, () => Init]>([
    [200, '/api/v1/sites', () => ({ headers: { authorization: `Bearer ${token}` } })],
    [200, '/livez', () => ({})],
    [200, '/api/docs/openapi.yaml', () => ({})],
    [201, '/api/v1/sites', () => ({ ...post({ domain: 'a.example' }, { authorization: `Bearer ${token}` }) })],
    [304, '/api/v1/sites', () => ({ headers: { authorization: `Bearer ${token}`, 'if-none-match': '*' } })],
    [400, '/api/v1/auth/login', () => post({})],
    [401, '/api/v1/sites', () => ({})],
    [401, '/api/v1/sites', () => ({ headers: { authorization: 'Bearer nonsense' } })],
    [403, '/api/v1/admin/users', () => ({ headers: { authorization: `Bearer ${token}` } })],
    [404, '/api/v1/nope', () => ({})],
    [405, '/api/v1/sites', () => ({ method: 'PUT' })],
    [413, '/api/v1/auth/login', () => post({ email: 'x'.repeat(2000) })],
    [415, '/api/v1/auth/login', () => ({ method: 'POST', body: 'email=a', headers: { 'content-type': 'text/plain' } })],
  ])('%i of %s may be read, with its headers', async (status, path, init) => {
    for (const origin of [APP, DEVELOPMENT]) {
      const response = await from(origin, path, init())
      if (status !== 201) expect(response.status).toBe(status)
      expect(response.headers.get('access-control-allow-origin')).toBe(origin)
      const exposed = response.headers.get('access-control-expose-headers')?.split(', ') ?? []
      expect(exposed).toEqual(
        expect.arrayContaining(['Link', 'ETag', 'Location', 'Retry-After', 'X-Request-Id', 'X-RateLimit-Remaining']),
      )
      expect(new Set(exposed).size).toBe(exposed.length)
      expect(response.headers.get('access-control-allow-credentials')).toBeNull()
      expect(response.headers.get('vary')).toStartWith('Origin')
    }
  })

  test('429 may be read too, with its Retry-After', async () => {
    limited = await startPanel({ corsOrigins: [APP], limitAnonymous: 1 })
    const answers = [await from(APP, '/api/v1/nope', {}, limited), await from(APP, '/api/v1/nope', {}, limited)]
    expect(answers.at(-1)?.status).toBe(429)
    expect(answers.at(-1)?.headers.get('access-control-allow-origin')).toBe(APP)
    expect(answers.at(-1)?.headers.get('access-control-expose-headers')).toContain('Retry-After')
  })

  test.each(['sites', 'sessions'])('500 may be read too, with %s broken', async (table) => {
    using database = new Database(`${panel.data}/ncp.db`)
    database.run(`ALTER TABLE ${table} RENAME TO hidden`)
    const response = await from(APP, '/api/v1/sites?limit=7', { headers: { authorization: `Bearer ${token}` } })
    database.run(`ALTER TABLE hidden RENAME TO ${table}`)
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([500, APP])
    expect(response.headers.get('vary')).toBe('Origin')
  })
})

describe('a response to a page of any other origin', () => {
  test.each([
    'https://evil.example',
    'null',
    '*',
    'https://app.example.com.evil.example',
    'https://app.example.com:8443',
    'http://app.example.com',
    'https://APP.example.com',
    `${APP}/`,
  ])('%s may not be read, and still varies by origin', async (origin) => {
    for (const path of ['/api/v1/sites', '/livez', '/nope']) {
      const response = await from(origin, path)
      expect([path, corsHeadersOf(response)]).toEqual([path, []])
      expect(response.headers.get('vary')).toBe('Origin')
    }
    const asked = await preflight(origin, '/api/v1/sites', 'POST')
    expect([asked.status, corsHeadersOf(asked)]).toEqual([405, []])
  })

  test('without an Origin has no CORS headers, and still varies by origin', async () => {
    const response = await from(undefined, '/livez')
    expect([corsHeadersOf(response), response.headers.get('vary')]).toEqual([[], 'Origin'])
  })
})

describe('a preflight', () => {
  test.each([
    ['/api/v1/auth/login', 'POST', 'Authorization, Content-Type'],
    ['/api/v1/sites', 'GET, HEAD, POST', 'Authorization, Content-Type, Idempotency-Key, If-None-Match'],
    ['/api/v1/sites/7', 'DELETE, GET, HEAD, PATCH', 'Authorization, Content-Type, If-Match, If-None-Match'],
    ['/api/v1/auth/api-keys', 'GET, HEAD, POST', 'Authorization, Content-Type, Idempotency-Key, If-None-Match'],
  ])('of %s names the methods and the headers of that route', async (path, methods, headers) => {
    const response = await preflight(APP, path, 'POST')
    expect([response.status, await response.text()]).toEqual([204, ''])
    expect(response.headers.get('access-control-allow-origin')).toBe(APP)
    expect(response.headers.get('access-control-allow-methods')).toBe(methods)
    expect(response.headers.get('access-control-allow-headers')).toBe(headers)
    expect(response.headers.get('access-control-max-age')).toBe('600')
    expect(response.headers.get('access-control-allow-credentials')).toBeNull()
    expect(response.headers.get('vary')).toBe('Origin')
    expect(response.headers.get('content-type')).toBeNull()
    expect(response.headers.get('x-request-id')).toBeTruthy()
  })

  test('of an upload names the headers that it takes', async () => {
    const response = await preflight(APP, '/api/v1/sites/1/deployments', 'POST')
    const takes = response.headers.get('access-control-allow-headers')?.split(', ') ?? []
    expect([response.status, response.headers.get('access-control-allow-methods')]).toEqual([204, 'GET, HEAD, POST'])
    for (const name of ['Authorization', 'Content-Type', 'Idempotency-Key', 'X-Content-SHA256']) {
      expect(takes).toContain(name)
    }
    const other = await preflight(APP, '/api/v1/sites', 'POST')
    expect(other.headers.get('access-control-allow-headers')).not.toContain('X-Content-SHA256')
  })

  test('of an unknown path is let through, so that the page can read the 404', async () => {
    const response = await preflight(APP, '/api/v1/nope', 'DELETE')
    expect([response.status, response.headers.get('access-control-allow-methods')]).toEqual([
      204,
      'DELETE, GET, HEAD, PATCH, POST, PUT',
    ])
  })

  test('counts by address in its own bucket, and is refused after 600 in a minute', async () => {
    limited = await startPanel({ corsOrigins: [APP], limitAnonymous: 1, limitUser: 1 })
    const asked: Response[] = []
    for (let count = 0; count < 601; count++) asked.push(await preflight(APP, '/api/v1/sites', 'GET', limited))
    expect(asked[0]?.headers.get('x-ratelimit-limit')).toBe('600')
    expect(asked.map(({ status }) => status)).toEqual([...Array(600).fill(204), 429])
    limited.clock.advance(60)
    expect((await preflight(APP, '/api/v1/sites', 'GET', limited)).status).toBe(204)
  })

  test('is an OPTIONS with a method and an allowed origin; any other is 405 or 404 as before', async () => {
    const without = await from(APP, '/api/v1/sites', { method: 'OPTIONS' })
    expect([without.status, without.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST'])
    const nowhere = await from(undefined, '/nope', {
      method: 'OPTIONS',
      headers: { 'access-control-request-method': 'GET' },
    })
    expect(nowhere.status).toBe(404)
  })

  test('with two Hosts is 400', async () => {
    const response = await from(APP, '/api/v1/sites', {
      method: 'OPTIONS',
      headers: { 'access-control-request-method': 'GET', host: 'a.example,b.example' },
    })
    expect(response.status).toBe(400)
  })
})

function post(body: object, headers: Record<string, string> = {}): Init {
  return { method: 'POST', body: JSON.stringify(body), headers: { ...json, ...headers } }
}
