/** Stopping the compiled panel: SIGTERM with requests in flight, and a second signal that cuts them off. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { type Installation, install, type RunningBinary } from '../../harness/binary.ts'
import { type Connection, openConnection } from '../../harness/connection.ts'
import { until } from '../../harness/until.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

const FOR_EVER = '600'

let here: Installation
beforeAll(async () => {
  here = await install()
})
afterAll(() => here.remove())

/** A login of which half has been sent: a request in flight for as long as a test wants. */
async function beginLogin({ port }: RunningBinary): Promise<{ connection: Connection; rest: string }> {
  const body = JSON.stringify({ email: 'admin@localhost', password: here.adminPassword() })
  const connection = await openConnection(port)
  const half = body.slice(0, 10)
  const head = ['POST /api/v1/auth/login HTTP/1.1', `Host: localhost:${port}`, 'Content-Type: application/json']
  connection.write(`${[...head, `Content-Length: ${body.length}`].join('\r\n')}\r\n\r\n${half}`)
  // An answer to another one, sent later, tells that the panel has read this one.
  const other = await openConnection(port)
  await other.get('/livez')
  other.close()
  return { connection, rest: body.slice(half.length) }
}

test('SIGTERM lets a request in flight finish, accepts no other, and exits with 0', async () => {
  const panel = await here.serve(['--no-tls'])
  const { connection, rest } = await beginLogin(panel)
  const idle = await openConnection(panel.port)
  await idle.get('/livez')
  panel.signal('SIGTERM')
  await until('the end of the idle connection', idle.isClosed)
  await expect(openConnection(panel.port)).rejects.toThrow('ECONNREFUSED')

  const answer = connection.answer()
  connection.write(rest)
  const { status, body } = await answer
  expect([status, JSON.parse(body).message]).toEqual([200, 'Login successful'])
  expect(await panel.ended()).toBe(0)
})

test('readiness fails first, for as long as a load balancer needs, while everything else is still served', async () => {
  const panel = await here.serve(['--no-tls'], { NCP_DRAIN_DELAY_SECONDS: FOR_EVER })
  const connection = await openConnection(panel.port)
  expect((await connection.get('/readyz')).status).toBe(200)
  panel.signal('SIGTERM')
  const unready = await until('readiness to fail', async () => {
    const response = await panel.request('/readyz')
    return response.status === 503 && response
  })
  expect(unready.headers.get('retry-after')).toBe('5')
  const { status, head } = await connection.get('/livez')
  expect([status, /^connection: close$/im.test(head)]).toEqual([200, true])
  expect((await panel.login('admin@localhost', here.adminPassword())).status).toBe(200)

  panel.signal('SIGTERM')
  expect(await panel.ended()).toBe(0)
})

test('a second signal waits for no further request', async () => {
  const panel = await here.serve(['--no-tls'], { NCP_DRAIN_SECONDS: FOR_EVER })
  const { connection } = await beginLogin(panel)
  panel.signal('SIGTERM')
  await until('the port to close', () =>
    openConnection(panel.port).then(
      (open) => {
        open.close()
        return false
      },
      () => true,
    ),
  )
  expect(connection.isClosed()).toBe(false)
  panel.signal('SIGTERM')
  expect(await panel.ended()).toBe(0)
  await until('the end of the connection', connection.isClosed)
})

test('a request that never ends is cut off after the grace period', async () => {
  const panel = await here.serve(['--no-tls'], { NCP_DRAIN_SECONDS: '0' })
  const { connection } = await beginLogin(panel)
  panel.signal('SIGTERM')
  expect(await panel.ended()).toBe(0)
  await until('the end of the connection', connection.isClosed)
})

test('data held only in memory is written: the last use of a key', async () => {
  const panel = await here.serve(['--no-tls'])
  const { data } = await panel.login('admin@localhost', here.adminPassword())
  const created = await panel.send<{ id: number; key: string }>('POST', '/auth/api-keys', {
    as: data.token,
    body: { name: 'Script' },
  })
  expect((await panel.send('GET', '/auth/me', { as: created.data.key })).status).toBe(200)
  expect(await panel.stop()).toBe(0)

  const next = await here.serve(['--no-tls'])
  const keys = await next.send<{ id: number; last_used_at: string | null }[]>('GET', '/auth/api-keys', {
    as: data.token,
  })
  expect(keys.data.find(({ id }) => id === created.data.id)?.last_used_at).toBeString()
  expect(await next.stop()).toBe(0)
})

test('SIGTERM ends an open stream of events, which has been silent for longer than a connection may be', async () => {
  const panel = await here.serve(['--no-tls'])
  const { token } = (await panel.login('admin@localhost', here.adminPassword())).data
  const response = await panel.request('/api/v1/events/stream', { headers: { authorization: `Bearer ${token}` } })
  const reader = (response.body ?? new ReadableStream<Uint8Array>()).pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  // A comment every ten seconds; after fifteen without a byte the listener would have closed the connection.
  while (text.split(':\n\n').length < 3) {
    const { done, value } = await reader.read()
    // Reading on would never end, and no limit of a test would end it.
    if (done) throw new Error(`the stream has ended: ${text}`)
    text += value
  }
  panel.signal('SIGTERM')
  for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value
  expect(text).toMatch(/event: end\ndata: \{"reason":"stopping",.*\}\n\n$/)
  expect(await panel.ended()).toBe(0)
})
