/** Large lists are compressed where the client takes it, and nothing else of the API ever is. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { gunzipSync } from 'node:zlib'
import { PASSWORD, usePanel } from '../harness/panel.ts'
import { sendRaw } from '../harness/raw.ts'

const panel = await usePanel({ corsOrigins: ['https://app.example.com'] })
const ada = await panel.customer()
await panel.subscription(ada.id)
beforeAll(async () => {
  for (let site = 0; site < 60; site++) {
    const aliases = Array.from({ length: 10 }, (_, alias) => `alias${alias}.site${site}.example`)
    const { status } = await panel.post('/sites', ada.token, { domain: `site${site}.example`, aliases })
    expect(status).toBe(201)
  }
})

const LARGE = '/api/v1/sites?limit=1000'
const SMALL = '/api/v1/sites?limit=2'

/** As it is on the wire: `fetch` would take the coding off. */
async function get(path: string, headers: Record<string, string> = {}) {
  const lines = Object.entries({
    host: 'localhost',
    connection: 'close',
    authorization: `Bearer ${ada.token}`,
    ...headers,
  })
  const child = Bun.spawn(
    ['curl', '-s', '-i', ...lines.flatMap(([name, value]) => ['-H', `${name}: ${value}`]), panel.origin + path],
    { stdout: 'pipe' },
  )
  const bytes = Buffer.from(await new Response(child.stdout).arrayBuffer())
  const end = bytes.indexOf('\r\n\r\n')
  const [status = '', ...fields] = bytes.subarray(0, end).toString().split('\r\n')
  const received = new Headers(fields.map((field) => field.split(/: (.*)/s).slice(0, 2) as [string, string]))
  return { status: Number(status.split(' ')[1]), headers: received, body: bytes.subarray(end + 4) }
}

test('a large list is sent as gzip, and decompresses to the plain list', async () => {
  const plain = await get(LARGE)
  const coded = await get(LARGE, { 'accept-encoding': 'gzip, deflate, br' })
  expect([plain.headers.get('content-encoding'), coded.headers.get('content-encoding')]).toEqual([null, 'gzip'])
  expect(gunzipSync(coded.body).equals(plain.body)).toBe(true)
  expect(coded.body.length).toBeLessThan(plain.body.length / 3)
  for (const { headers } of [plain, coded]) {
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(headers.get('vary')).toBe('Origin, Accept-Encoding')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-ratelimit-limit')).toBeTruthy()
  }
  expect((JSON.parse(plain.body.toString()) as { data: unknown[] }).data).toHaveLength(60)
  // Again from what is remembered, with and without the coding.
  expect((await get(LARGE, { 'accept-encoding': 'gzip' })).body.equals(coded.body)).toBe(true)
  expect((await get(LARGE, { 'accept-encoding': 'identity' })).body.equals(plain.body)).toBe(true)
})

test('its ETag differs from that of the plain list, and both give 304 to a client that sends them', async () => {
  const accepting = { 'accept-encoding': 'gzip' }
  const plain = (await get(LARGE)).headers.get('etag') ?? ''
  const coded = (await get(LARGE, accepting)).headers.get('etag') ?? ''
  expect(coded).toBe(plain.replace(/"$/, '-gzip"'))
  for (const etag of [plain, coded, `W/${coded}`]) {
    const known = await get(LARGE, { ...accepting, 'if-none-match': etag })
    expect([etag, known.status, known.body.length, known.headers.get('content-encoding')]).toEqual([etag, 304, 0, null])
    expect(known.headers.get('etag')).toBe(coded)
  }
})

describe('nothing is compressed', () => {
  test.each(['gzip;q=0', 'br', 'identity', '', 'deflate, zstd', 'gzip;q=x'])(
    'for Accept-Encoding: %j',
    async (accepted) => {
      const { status, headers } = await get(LARGE, { 'accept-encoding': accepted })
      expect([status, headers.get('content-encoding')]).toEqual([200, null])
    },
  )

  test('of a list that is short', async () => {
    const { headers } = await get(SMALL, { 'accept-encoding': 'gzip' })
    expect([headers.get('content-encoding'), headers.get('vary')]).toEqual([null, 'Origin'])
  })

  test('that contains a secret, or is an error', async () => {
    const headers = { 'accept-encoding': 'gzip' }
    const login = await panel.send('POST', '/auth/login', { body: { email: ada.email, password: PASSWORD }, headers })
    const key = await panel.send('POST', '/auth/api-keys', { as: ada.token, body: { name: 'x' }, headers })
    const nobody = await panel.send('GET', '/sites?limit=1000', { headers })
    expect([login.status, key.status, nobody.status]).toEqual([200, 201, 401])
    for (const answer of [login, key, nobody]) expect(answer.headers.get('content-encoding')).toBeNull()
  })
})

test('HEAD returns the headers of the compressed list without a body', async () => {
  const response = await sendRaw(
    panel.origin,
    `HEAD ${LARGE} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${ada.token}\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n`,
  )
  expect(response).toStartWith('HTTP/1.1 200 ')
  expect(response.toLowerCase()).toContain('content-encoding: gzip')
  expect(response).toEndWith('\r\n\r\n')
})
