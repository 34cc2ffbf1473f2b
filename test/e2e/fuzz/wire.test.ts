/** Fuzzing of the wire: bytes that are nearly HTTP, or not at all, get a refusal or a closed connection, and nothing else. */
import { beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { createTestLog } from '../../harness/log.ts'
import { usePanel } from '../../harness/panel.ts'
import { sendAndHangUp } from '../../harness/raw.ts'
import { AT_ONCE, fuzz, TEST_TIMEOUT_MS } from './options.ts'

const BURSTS = 12
/** Connections at once. */
const BURST = 25
const CANARY = 'wire-canary.example'

const log = createTestLog()
const panel = await usePanel({ limitProbe: 1_000_000 }, log)
const ada = await panel.customer()
await panel.subscription(ada.id)
beforeAll(async () => {
  await panel.post('/sites', ada.token, { domain: CANARY })
})

const oneOf = fc.constantFrom
const bytes = fc.string({
  unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
  maxLength: 40,
})
const mostly = <T>(usual: T, ...others: fc.Arbitrary<T>[]) =>
  fc.oneof({ weight: 20, arbitrary: fc.constant(usual) }, ...others)

const method = mostly(
  'GET',
  oneOf('POST', 'HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'CONNECT', 'PROPFIND', 'PRI', 'get', 'G ET', ''),
  bytes,
)
const target = fc.oneof(
  oneOf('/api/v1/sites', '/api/v1/auth/me', '/api/v1/auth/login', '/api/docs', '/livez', '/readyz', '/api/v1/sites/1'),
  oneOf('*', '', '/', '//', '/..', '/../..//', '/%', '/%00', '/%ff', '/api/v1/sites?', '/?a&a', '/#', '/\\', 'livez'),
  oneOf('http://evil.example/livez', 'https://localhost/api/v1/sites', 'localhost:443', 'http://', 'http://a b/'),
  fc.nat(20_000).map((length) => `/${'a'.repeat(length)}`),
  bytes.map((text) => `/${text}`),
)
const version = mostly(
  'HTTP/1.1',
  oneOf('HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0', 'HTTP/1.10', 'http/1.1', 'HTTP', ''),
  bytes,
)
const header = fc.oneof(
  oneOf('Content-Length: 0', 'Content-Length: 5', 'Content-Length: 5, 5', 'Content-Length: -1', 'Content-Length: +5'),
  oneOf('Content-Length: 0x5', 'Content-Length: 99999999999999999999', 'Content-Length:', 'Content-Length: 5\t'),
  oneOf('Transfer-Encoding: chunked', 'Transfer-Encoding : chunked', 'Transfer-Encoding: gzip, chunked'),
  oneOf('Transfer-Encoding: identity', 'Transfer-Encoding:\tchunked', 'Transfer-Encoding: chunked, chunked'),
  oneOf('Host: evil.example', 'Host:', 'Host: a', 'Host: [::1', 'Host: a:b:c', 'Host: localhost/x', 'Host: \x80'),
  oneOf(
    'Connection: close',
    'Connection: keep-alive, close',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Upgrade: h2c',
  ),
  oneOf(
    'Expect: 100-continue',
    'Expect: x',
    'Range: bytes=0-0,-1',
    'TE: trailers',
    'Trailer: Authorization',
    'Cookie: a',
  ),
  oneOf('Content-Type: application/json', 'Content-Type: application/json;charset=utf-16', 'Content-Encoding: gzip'),
  oneOf(
    'Authorization: Bearer',
    'Authorization: Bearer a.b.c',
    'Authorization: Basic eA==',
    'X-Forwarded-For: 1, ::1, x',
  ),
  oneOf(' folded', '\tfolded', ':', ': x', 'x', 'X y: z', 'X\0: y', '__proto__: x', 'constructor: x', '%s%n: x'),
  fc.tuple(bytes, bytes).map(([name, value]) => `${name}: ${value}`),
  fc.nat(20_000).map((length) => `X-Long: ${'a'.repeat(length)}`),
)
const body = fc.oneof(
  oneOf('', '{}', '{"email":"a@b.c","password":"x"}', '[]', 'null', '{"a":'),
  oneOf(
    '0\r\n\r\n',
    '5\r\nhello\r\n0\r\n\r\n',
    '5;x=y\r\nhello\r\n0\r\nX: y\r\n\r\n',
    '-1\r\n',
    'fffffffff\r\n',
    '5\nhello\n0\n\n',
  ),
  oneOf(
    'GET /api/v1/sites HTTP/1.1\r\nHost: localhost\r\n\r\n',
    '0\r\n\r\nGET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n',
  ),
  bytes,
)
const lineEnd = mostly('\r\n', oneOf('\n', '\r', '\r\n\r\n', ' \r\n', '\0\r\n'))

const request = fc
  .record({
    method,
    target,
    version,
    host: mostly('Host: localhost', oneOf('')),
    headers: fc.array(header, { maxLength: 2 }),
    lineEnd,
    body,
  })
  .map(({ method, target, version, host, headers, lineEnd, body }) => {
    const lines = [`${method} ${target} ${version}`, ...(host === '' ? [] : [host]), ...headers]
    return `${lines.join(lineEnd)}${lineEnd}${lineEnd}${body}`
  })

/** Where bytes are changed after that, and to what. */
const damage = fc.array(fc.tuple(fc.nat(400), fc.integer({ min: 0, max: 255 }), oneOf('change', 'insert', 'cut')), {
  maxLength: 2,
})

const stream = fc
  .tuple(fc.array(request, { minLength: 1, maxLength: 3 }), mostly<[number, number, string][]>([], damage))
  .map(([requests, damages]) => {
    let sent = requests.join('')
    for (const [at, code, how] of damages) {
      const rest = how === 'insert' ? at : at + 1
      sent = sent.slice(0, at) + (how === 'cut' ? '' : String.fromCharCode(code)) + sent.slice(rest)
    }
    return sent
  })

test(
  'any bytes get either a response safe for a stranger or none, and the panel keeps running',
  () => fuzz('wire', round),
  TEST_TIMEOUT_MS,
)

async function round(seed: number): Promise<void> {
  const property = fc.asyncProperty(fc.array(stream, { minLength: BURST, maxLength: BURST }), async (streams) => {
    const received = await Promise.all(streams.map((sent) => sendAndHangUp(panel.origin, Buffer.from(sent, 'latin1'))))
    for (const [i, text] of received.entries()) expectHarmless(text, streams[i] ?? '')
    expect((await panel.get('/livez')).status).toBe(200)
  })
  await fc.assert(property, { seed, numRuns: BURSTS, ...AT_ONCE })
  expect(log.lines.filter(({ msg }) => msg === 'unexpected error')).toEqual([])
  // A connection that another client has confused is not this one.
  const { data } = await panel.get<{ domain: string }[]>('/sites', ada.token)
  expect(data.map(({ domain }) => domain)).toEqual([CANARY])
}

/** Without a credential, a success is a probe or the reference; and nothing tells of the inside. */
function expectHarmless(received: string, sent: string): void {
  const context = `${JSON.stringify(sent)} got ${JSON.stringify(received.slice(0, 500))}`
  if (received === '') return
  if (!/^HTTP\/1\.1 \d{3}/.test(received)) throw new Error(`no HTTP: ${context}`)
  for (const [, status] of received.matchAll(/^HTTP\/1\.1 (\d{3})/gm)) {
    if (Number(status) >= 500 && status !== '505') throw new Error(`${status}: ${context}`)
  }
  if (received.includes(CANARY) || received.includes(ada.email)) throw new Error(`a leak: ${context}`)
  if (/Something went wrong|\bat .+\.ts:|node_modules|SQLITE_/.test(received)) throw new Error(`the inside: ${context}`)
}
