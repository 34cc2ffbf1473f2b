/** Requests that are wrong before any rule of a resource is: syntax, size, media type, framing. */
import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { request as startRequest } from 'node:http'
import { type ConnectionAnswer, openConnection } from '../harness/connection.ts'
import { usePanel } from '../harness/panel.ts'
import { sendRaw } from '../harness/raw.ts'
import { until } from '../harness/until.ts'

const panel = await usePanel()
const ada = await panel.customer()
await panel.subscription(ada.id)

const MEBIBYTE = 1024 * 1024

const post = (rawBody: Bun.BodyInit, headers: Record<string, string> = {}) =>
  panel.send('POST', '/auth/api-keys', { as: ada.token, rawBody, headers })
const keyNames = async () =>
  (await panel.get<{ name: string }[]>('/auth/api-keys', ada.token)).data.map(({ name }) => name)

describe('a body', () => {
  test.each<[string, Bun.BodyInit]>([
    ['is cut short', '{"name":"a"'],
    ['has an extra comma', '{"name":"a",}'],
    ['is not JSON', 'name=a'],
    ['has single quotes', "{'name':'a'}"],
    ['contains NaN', '{"name":NaN}'],
    ['has something after it', '{"name":"a"} x'],
    ['has a control character in a string', '{"name":"a\u0001"}'],
    ['is not UTF-8', new Uint8Array([...new TextEncoder().encode('{"name":"'), 0xff, 0xfe, 0x22, 0x7d])],
    ['is UTF-16', new Uint8Array(Buffer.from('{"name":"a"}', 'utf16le'))],
    ['begins with a byte-order mark', '\ufeff{"name":"a"}'],
    ['names a field twice', '{"name":"a","name":"b"}'],
    ['names a field twice in two spellings', '{"name":"a","n\\u0061me":"b"}'],
    ['is nested endlessly', '['.repeat(30_000)],
    ['is nested deeply', `${'['.repeat(30_000)}${']'.repeat(30_000)}`],
    ['is only white space', '   '],
  ])('that %s is 400', async (_, body) => {
    const answer = await post(body)
    expect([answer.status, answer.error]).toEqual([400, 'bad request'])
  })

  test('with the same name in two objects, or in a string, is accepted', async () => {
    const answer = await panel.send('POST', '/sites', {
      as: ada.token,
      rawBody: '{"domain":"twice.example","aliases":["domain.example","{\\"domain\\":1,\\"domain\\":2}.example"]}',
    })
    expect(answer.message).toStartWith('aliases.1: must be a full domain name')
  })

  test.each(['{}', 'null', '[]', '"name"', '1', 'true'])('%s is 400, because the name is missing', async (body) => {
    expect((await post(body)).status).toBe(400)
  })

  test('that is missing is 400', async () => {
    const answer = await panel.post('/auth/api-keys', ada.token)
    expect([answer.status, answer.message]).toEqual([400, 'body: is required'])
  })

  test.each(['{"name":"a","__proto__":{"role":"admin"}}', '{"name":"a","constructor":{"prototype":{"role":"admin"}}}'])(
    '%s is 422 and changes no prototype',
    async (body) => {
      const answer = await post(body)
      expect([answer.status, answer.error]).toEqual([422, 'validation error'])
      expect(({} as { role?: string }).role).toBeUndefined()
      expect((await panel.get('/admin/users', ada.token)).status).toBe(403)
    },
  )

  test('with an unknown field is 422 and stores nothing', async () => {
    const answer = await post('{"name":"mistyped","expire_at":"2030-01-01T00:00:00Z"}')
    expect([answer.status, answer.message]).toEqual([422, 'expire_at: is not a known field'])
    expect(await keyNames()).not.toContain('mistyped')
  })

  test('is never echoed in a message, nor is an unknown field with a strange name', async () => {
    const answer = await post('{"name":"a","<script>alert(1)</script>":1}')
    expect(answer.message).toBe('body: is not a known field')
    const secret = 's3cret'.repeat(50)
    expect((await post(JSON.stringify({ name: secret }))).message).not.toContain('s3cret')
  })
})

describe('a media type', () => {
  test.each(['application/json', 'application/json; charset=utf-8', 'APPLICATION/JSON;charset="UTF-8"'])(
    '%s is accepted',
    async (contentType) => {
      expect((await post('{"name":"typed"}', { 'content-type': contentType })).status).toBe(201)
    },
  )

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json; charset=utf-16',
    'application/jsonp',
    'application/merge-patch+json',
    'text/json',
    '',
  ])('%j is 415', async (contentType) => {
    const answer = await post('{"name":"untyped"}', { 'content-type': contentType })
    expect([answer.status, answer.error]).toEqual([415, 'unsupported media type'])
    expect(await keyNames()).not.toContain('untyped')
  })

  test('compressed is 415', async () => {
    expect((await post(Bun.gzipSync('{"name":"a"}'), { 'content-encoding': 'gzip' })).status).toBe(415)
  })
})

describe('a large body', () => {
  const tenMebibytes = () => `{"name":"${'x'.repeat(10 * MEBIBYTE)}"}`

  test('is 413 at one byte over the limit, and accepted at the limit', async () => {
    const padded = (length: number) => '{"name":"padded"}'.padEnd(length, ' ')
    expect((await post(padded(65_536))).status).toBe(201)
    const answer = await post(padded(65_537))
    expect([answer.status, answer.error, answer.message]).toEqual([
      413,
      'payload too large',
      'The request body must be at most 65536 bytes',
    ])
  })

  test('of 10 MB is 413, with its length or in chunks', async () => {
    expect((await post(tenMebibytes())).status).toBe(413)
    const chunks = new ReadableStream({
      start(controller) {
        for (let i = 0; i < 160; i++) controller.enqueue(new TextEncoder().encode('x'.repeat(65_536)))
        controller.close()
      },
    })
    expect((await post(chunks)).status).toBe(413)
    expect((await panel.get('/sites', ada.token)).status).toBe(200)
  })

  /** As most clients do it: the whole body is written before the answer is read, and an error while writing ends it. */
  function writeAll(bytes: number, length: Record<string, string>) {
    return new Promise<(number | string | undefined)[]>((resolve, reject) => {
      const headers = { authorization: `Bearer ${ada.token}`, 'content-type': 'application/json', ...length }
      const sent = startRequest(`${panel.origin}/api/v1/sites`, { method: 'POST', headers }, async (response) => {
        const body = JSON.parse(Buffer.concat(await Array.fromAsync(response)).toString()) as { error: string }
        resolve([response.statusCode, response.headers.connection, body.error])
      })
      sent.on('error', reject)
      const piece = Buffer.alloc(MEBIBYTE, 'x')
      const writeNext = (left: number) => {
        if (left === 0) sent.end()
        else if (sent.write(piece)) setImmediate(writeNext, left - 1)
        else sent.once('drain', () => writeNext(left - 1))
      }
      writeNext(bytes / MEBIBYTE)
    })
  }

  test.each([1, 10, 150])('of %i MiB is drained before its 413, which closes the connection', async (mebibytes) => {
    const bytes = mebibytes * MEBIBYTE
    const refused = [413, 'close', 'payload too large']
    expect(await writeAll(bytes, { 'content-length': `${bytes}` })).toEqual(refused)
    expect(await writeAll(bytes, { 'transfer-encoding': 'chunked' })).toEqual(refused)
  })

  test('that is only announced is 413 too, even for a client that waits for the answer before sending it', async () => {
    for (const length of [65_537, 200 * MEBIBYTE, 10 ** 12]) {
      const lines = ['POST /api/v1/sites HTTP/1.1', 'Host: localhost', `Authorization: Bearer ${ada.token}`]
      const head = [...lines, 'Content-Type: application/json', `Content-Length: ${length}`, '', '']
      const answer = await sendRaw(panel.origin, head.join('\r\n'))
      expect([length, answer.split('\r\n')[0], /^connection: close$/im.test(answer)]).toEqual([
        length,
        'HTTP/1.1 413 Payload Too Large',
        true,
      ])
    }
  })

  test('is not read before the caller is known', async () => {
    expect((await panel.send('POST', '/auth/api-keys', { rawBody: tenMebibytes() })).status).toBe(401)
  })

  test('is not read before the caller is authorized, nor is its media type', async () => {
    const as = await panel.key(ada.token, { scopes: ['sites:read'] })
    for (const [rawBody, headers] of [
      ['x'.repeat(2 * MEBIBYTE), {}],
      ['x', { 'content-type': 'text/plain' }],
    ] as const) {
      const { status, error } = await panel.send('POST', '/sites', { as, rawBody, headers })
      expect([status, error]).toEqual([403, 'scope_missing'])
    }
  })

  test('of an anonymous login is refused too', async () => {
    expect((await panel.send('POST', '/auth/login', { rawBody: tenMebibytes() })).status).toBe(413)
  })
})

describe('a body that arrives slowly', () => {
  async function beginning() {
    const connection = await openConnection(Number(new URL(panel.origin).port))
    const head = ['POST /api/v1/auth/api-keys HTTP/1.1', 'Host: localhost', `Authorization: Bearer ${ada.token}`]
    connection.write(`${[...head, 'Content-Type: application/json', 'Content-Length: 10000'].join('\r\n')}\r\n\r\n`)
    return connection
  }

  test('is waited for', async () => {
    const connection = await beginning()
    connection.write('{"name":"slow"')
    panel.clock.advance(29)
    connection.write('}'.padEnd(10_000 - 14))
    expect((await connection.answer()).status).toBe(201)
    connection.close()
  })

  test('is 408 half a minute after its first byte, and its connection closed', async () => {
    const connection = await beginning()
    let answer: ConnectionAnswer | undefined
    const answered = connection.answer().then((given) => {
      answer = given
    })
    await until('the refusal', () => {
      connection.write(' ')
      panel.clock.advance(1)
      return answer !== undefined
    })
    await answered
    expect(answer?.status).toBe(408)
    expect(JSON.parse(answer?.body ?? '')).toEqual({
      data: null,
      error: 'request timeout',
      message: 'The request body took too long; send it again',
    })
    await until('the end of the connection', connection.isClosed)
  })
})

describe('a query', () => {
  test.each([
    ['subscription_id=1&subscription_id=1', 400, 'Give each query parameter once'],
    ['subscription_id=abc', 400, 'subscription_id: must be an integer'],
    ['subscription_id=', 400, 'subscription_id: must be an integer'],
    ['subscription_id[]=1', 422, 'query: is not a known field'],
    ['subscription_id=1.5', 400, 'subscription_id: must be an integer'],
    ['subscription_id=1e3', 400, 'subscription_id: must be an integer'],
    ['subscription_id=0x1', 400, 'subscription_id: must be an integer'],
    ['subscription_id={"a":1}', 400, 'subscription_id: must be an integer'],
    ['limit=10&limit=10', 400, 'Give each query parameter once'],
    ['cursor=a&cursor=b', 400, 'Give each query parameter once'],
    ['subscripton_id=1', 422, 'subscripton_id: is not a known field'],
    ['__proto__=1', 422, '__proto__: is not a known field'],
  ])('?%s is %i', async (query, status, message) => {
    const answer = await panel.get(`/sites?${query}`, ada.token)
    expect([answer.status, answer.message]).toEqual([status, message])
  })
})

describe('a query where none is taken', () => {
  test('is refused, or a key meant to expire would not', async () => {
    const answer = await panel.post('/auth/api-keys?expires_at=2030-01-01T00:00:00Z', ada.token, {
      name: 'everlasting',
    })
    expect([answer.status, answer.message]).toEqual([422, 'expires_at: is not a known field'])
    expect(await keyNames()).not.toContain('everlasting')
    expect((await panel.get('/auth/me?x=1', ada.token)).status).toBe(422)
  })
})

describe('a body where none is taken', () => {
  test('is not read', async () => {
    const body = { rawBody: 'x', headers: { 'content-type': 'text/plain' } }
    expect((await panel.send('DELETE', '/sites/999999', { as: ada.token, ...body })).status).toBe(404)
    const token = await panel.login(ada.email)
    expect((await panel.send('POST', '/auth/logout', { as: token, ...body })).status).toBe(200)
  })
})

describe('a path', () => {
  test.each(['/sites/', '//sites', '/./sites/../nope', '/SITES', '/sites;x', '/sites%2f', '/s%69tes', '/auth/login/'])(
    '%s is 404',
    async (path) => {
      const answer = await panel.send('GET', path, { as: ada.token })
      expect([answer.status, answer.error]).toEqual([404, 'not found'])
    },
  )

  test.each([
    ['/sites', 'PUT', 'GET, HEAD, POST'],
    ['/sites', 'OPTIONS', 'GET, HEAD, POST'],
    ['/sites/1', 'POST', 'DELETE, GET, HEAD, PATCH'],
    ['/auth/login', 'GET', 'POST'],
    ['/auth/api-keys', 'PATCH', 'GET, HEAD, POST'],
    ['/auth/api-keys/1', 'PUT', 'DELETE, GET, HEAD, PATCH'],
    ['/auth/api-keys/1/rotate', 'GET', 'POST'],
    ['/livez', 'POST', 'GET, HEAD'],
  ])('%s does not take %s', async (path, method, allow) => {
    const answer = await panel.send(method, path)
    expect([answer.status, answer.error, answer.headers.get('allow')]).toEqual([405, 'method not allowed', allow])
  })
})

describe('HEAD', () => {
  test('answers like GET, without a body, and requires the credential too', async () => {
    const head = (as: string) =>
      fetch(`${panel.origin}/api/v1/sites`, { method: 'HEAD', headers: { authorization: `Bearer ${as}` } })
    const good = await head(ada.token)
    expect([good.status, await good.text(), good.headers.get('x-ratelimit-limit')]).toEqual([200, '', '1000000'])
    expect(good.headers.get('content-type')).toBe('application/json; charset=utf-8')
    const bad = await head('x')
    expect([bad.status, await bad.text()]).toEqual([401, ''])
  })
})

describe('on the wire', () => {
  const request = (...lines: string[]) => sendRaw(panel.origin, `${lines.join('\r\n')}\r\n\r\n`, /\r\n\r\n.*\}$/s)
  const authorization = () => `Authorization: Bearer ${ada.token}`

  function expectEnvelope(response: string, status: number): void {
    expect(response).toStartWith(`HTTP/1.1 ${status} `)
    expect(response.toLowerCase()).toContain('x-ratelimit-remaining: ')
    const body = JSON.parse(response.slice(response.indexOf('\r\n\r\n') + 4))
    expect(Object.keys(body)).toEqual(['data', 'error', 'message'])
    expect(body.data).toBeNull()
  }

  test('HTTP/1.0 without a Host is 400 in the envelope', async () => {
    expectEnvelope(await request('GET /api/v1/sites HTTP/1.0', authorization()), 400)
  })

  test('two Hosts are 400 in the envelope', async () => {
    expectEnvelope(
      await request('GET /livez HTTP/1.1', 'Host: localhost', 'Host: evil.example', 'Connection: close'),
      400,
    )
  })

  test.each(['a', 'ncp', 'abc', 'srv:80', 'panel.example.com', '[2001:db8::7]', '[::1]:3443', '127.0.0.1:3443', 'a:'])(
    'a Host of %s is served, whatever its length, and no segment of the path is lost',
    async (host) => {
      const me = await request(
        'GET /api/v1/auth/me?x=1 HTTP/1.1',
        `Host: ${host}`,
        authorization(),
        'Connection: close',
      )
      expectEnvelope(me, 422)
      expect(me).toContain('x: is not a known field')
      const lost = await request('GET /xx/api/v1/sites HTTP/1.1', `Host: ${host}`, authorization(), 'Connection: close')
      expectEnvelope(lost, 404)
      for (const [type, status] of [
        ['application/json', 401],
        ['text/plain', 415],
      ] as const) {
        const body = JSON.stringify({ email: 'nobody@example.com', password: 'wrong password' })
        const login = await request(
          'POST /api/v1/auth/login HTTP/1.1',
          `Host: ${host}`,
          `Content-Type: ${type}`,
          `Content-Length: ${body.length}`,
          'Connection: close',
          '',
          body,
        )
        expectEnvelope(login, status)
      }
    },
  )

  test('a Host of one name has the same limits as a long one', async () => {
    const remaining = async (host: string) =>
      Number(
        /x-ratelimit-remaining: (\d+)/i.exec(
          await request('GET /livez HTTP/1.1', `Host: ${host}`, 'Connection: close'),
        )?.[1],
      )
    const before = await remaining('localhost')
    expect(await remaining('a')).toBe(before - 1)
  })

  const hostForm = 'must be a host name or an IP address, and perhaps a port, without blanks, user or path'
  test.each([
    ['a b', hostForm],
    ['ada@panel.example.com', hostForm],
    ['panel.example.com/x', hostForm],
    ['http://panel.example.com', hostForm],
    ['panel\\x', hostForm],
    ['<panel>', hostForm],
    ['[::1', 'must have an IPv6 address in brackets, as in [2001:db8::7]:3443'],
    ['2001:db8::7', 'must have an IPv6 address in brackets, as in [2001:db8::7]:3443'],
    ['[panel]', 'must have an IPv6 address in its brackets, as in [2001:db8::7]:3443'],
    ['panel:x', 'must have a port from 0 to 65535, or none'],
    ['panel:-1', 'must have a port from 0 to 65535, or none'],
    ['panel:65536', 'must have a port from 0 to 65535, or none'],
    ['panel,panel', 'must be sent once, with one name'],
    ['', 'is required; send the name and the port of this server'],
  ])('a Host of %j is 400 with the rule, on every path', async (host, rule) => {
    for (const path of ['/livez', '/api/v1/sites', '/aaaaaaaaaaaaaaaa/api/v1/sites']) {
      const response = await request(`GET ${path} HTTP/1.1`, `Host: ${host}`, authorization(), 'Connection: close')
      expectEnvelope(response, 400)
      expect(JSON.parse(response.slice(response.indexOf('\r\n\r\n') + 4)).message).toBe(`Host: ${rule}`)
    }
  })

  test('two Authorization headers are 401, even with the same credential twice', async () => {
    const response = await request(
      'GET /api/v1/sites HTTP/1.1',
      'Host: localhost',
      authorization(),
      authorization(),
      'Connection: close',
    )
    expectEnvelope(response, 401)
  })

  test('TRACE and CONNECT are refused and echo nothing', async () => {
    for (const line of ['TRACE /api/v1/sites HTTP/1.1', 'CONNECT /api/v1/sites HTTP/1.1']) {
      const response = await request(line, 'Host: localhost', authorization(), 'Connection: close')
      expect(response).not.toContain(ada.token)
      expect(response).not.toMatch(/^HTTP\/1\.1 2/)
    }
  })

  test.each([
    ['both a length and chunks', ['Content-Length: 3', 'Transfer-Encoding: chunked']],
    ['two lengths', ['Content-Length: 3', 'Content-Length: 5']],
    ['a length that is not a number', ['Content-Length: +3']],
    ['an odd transfer encoding', ['Transfer-Encoding: xchunked']],
  ])('%s cannot smuggle a second request', async (_, headers) => {
    const response = await sendRaw(
      panel.origin,
      [
        'POST /api/v1/auth/login HTTP/1.1',
        'Host: localhost',
        ...headers,
        '',
        '0',
        '',
        'GET /livez HTTP/1.1',
        'Host: localhost',
        '',
        '',
      ].join('\r\n'),
    )
    expect(response.match(/HTTP\/1\.1 /g)).toHaveLength(1)
    expect(response).toStartWith('HTTP/1.1 400')
  })
})

describe('an unexpected error', () => {
  /** While `work` runs, the panel finds no such table. */
  async function without<T>(table: string, work: () => Promise<T>): Promise<T> {
    using database = new Database(`${panel.data}/ncp.db`)
    database.run(`ALTER TABLE ${table} RENAME TO hidden`)
    const result = await work()
    database.run(`ALTER TABLE hidden RENAME TO ${table}`)
    return result
  }

  // `sessions` is read before there is a route, to know who calls: it fails closed, and with all headers.
  test.each(['subscriptions', 'sessions'])(
    'with %s is 500 without internals, and the next request is served',
    async (table) => {
      const admin = await panel.admin()
      const answer = await without(table, () => panel.get('/admin/subscriptions', admin))
      expect([answer.status, answer.error]).toEqual([500, 'internal server error'])
      expect(answer.message).not.toMatch(/sql|table|subscriptions|sessions|\.ts|at /i)
      expect((await panel.get('/admin/subscriptions', admin)).status).toBe(200)
    },
  )
})
