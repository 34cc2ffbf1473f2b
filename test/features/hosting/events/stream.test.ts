/** `/events/stream`: what happens to sites, told as it happens, for as long as its reader may see it. */
import { Database } from 'bun:sqlite'
import { afterEach, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Customer, usePanel } from '../../../harness/panel.ts'
import { until } from '../../../harness/until.ts'

type Message = { id?: string; event?: string; data?: object | undefined }

const HOUR_SECONDS = 60 * 60

// A port is configured, and nothing listens on it: no node reports.
const panel = await usePanel({ sitesPort: 8080 })
const open = new Set<AbortController>()
afterEach(() => {
  for (const one of open) one.abort()
  open.clear()
})

let names = 0
async function newCustomer(): Promise<Customer & { subscription: number }> {
  const customer = await panel.customer()
  return { ...customer, subscription: await panel.subscription(customer.id) }
}
const createSite = async (token: string, query = '') =>
  (await panel.post<{ id: number }>(`/sites${query}`, token, { domain: `stream-${++names}.example` })).data

/** Opens a stream and reads its messages, one at a time; comments are skipped. */
async function follow(as: string, query = '', headers: Record<string, string> = {}) {
  const cut = new AbortController()
  open.add(cut)
  const response = await fetch(`${panel.origin}/api/v1/events/stream${query}`, {
    headers: { authorization: `Bearer ${as}`, ...headers },
    signal: cut.signal,
  })
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  expect(response.headers.get('cache-control')).toBe('no-store')
  const reader = (response.body ?? new ReadableStream<Uint8Array>()).pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  return {
    /** Undefined at the end. */
    async next(): Promise<Message | undefined> {
      for (;;) {
        const end = text.indexOf('\n\n')
        if (end !== -1) {
          const message = parse(text.slice(0, end))
          text = text.slice(end + 2)
          if (message) return message
          continue
        }
        const { done, value } = await reader.read()
        if (done) return undefined
        text += value
      }
    },
    cut: () => cut.abort(),
  }
}

function parse(block: string): Message | undefined {
  const lines = block.split('\n').filter((line) => !line.startsWith(':'))
  if (lines.length === 0) return undefined
  const fields = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  )
  return { ...fields, ...(fields.data !== undefined && { data: JSON.parse(fields.data) }) }
}

function change(sql: string): void {
  using database = new Database(join(panel.data, 'ncp.db'))
  database.run('PRAGMA busy_timeout = 60000')
  database.run(sql)
}

describe('a stream', () => {
  test('tells what happens from now on, and not what happened before', async () => {
    const ada = await newCustomer()
    await createSite(ada.token)
    const stream = await follow(ada.token)
    expect(await stream.next()).toEqual({ id: expect.any(String) })
    const { id } = await createSite(ada.token)
    const { data: events } = await panel.get<{ id: number }[]>('/events', ada.token)
    expect(await stream.next()).toEqual({ id: `${events[1]?.id}`, event: 'site.created', data: events[1] })
    await panel.delete(`/sites/${id}`, ada.token)
    expect(await stream.next()).toMatchObject({ event: 'site.deleted', data: { site_id: id } })
  })

  test('tells what another process writes', async () => {
    const ada = await newCustomer()
    const stream = await follow(ada.token)
    await stream.next()
    change(`INSERT INTO events (subscription_id, site_id, kind, generation, details, created_at)
      VALUES (${ada.subscription}, 1, 'site.active', 1, '{}', 0)`)
    await panel.services.commits.poll()
    expect(await stream.next()).toMatchObject({ event: 'site.active', data: { site_id: 1 } })
  })

  test('tells a key that is bound to sites of those alone', async () => {
    const ada = await newCustomer()
    const [other, own] = [await createSite(ada.token), await createSite(ada.token)]
    const stream = await follow(await panel.key(ada.token, { sites: [own.id] }))
    await stream.next()
    await createSite(ada.token)
    await panel.delete(`/sites/${other.id}`, ada.token)
    await panel.patch(`/sites/${own.id}`, ada.token, { spa: true })
    expect(await stream.next()).toMatchObject({ event: 'site.changed', data: { site_id: own.id } })
  })

  test('goes on after the last event that its reader has seen', async () => {
    const ada = await newCustomer()
    const sites = [await createSite(ada.token), await createSite(ada.token), await createSite(ada.token)]
    const { data: events } = await panel.get<{ id: number }[]>('/events', ada.token)
    const stream = await follow(ada.token, '', { 'last-event-id': `${events[0]?.id}` })
    expect(await stream.next()).toEqual({ id: `${events[0]?.id}` })
    expect(await stream.next()).toMatchObject({ event: 'site.created', data: { site_id: sites[1]?.id } })
    expect(await stream.next()).toMatchObject({ event: 'site.created', data: { site_id: sites[2]?.id } })
  })

  test('goes on through hundreds of events in order', async () => {
    const ada = await newCustomer()
    await createSite(ada.token)
    const { data: events } = await panel.get<{ id: number }[]>('/events', ada.token)
    const values = Array.from({ length: 450 }, (_, i) => `(${ada.subscription}, ${i}, 'site.active', 1, '{}', 0)`)
    change(`INSERT INTO events (subscription_id, site_id, kind, generation, details, created_at) VALUES ${values}`)
    const stream = await follow(ada.token, '', { 'last-event-id': `${events[0]?.id}` })
    await stream.next()
    for (let i = 0; i < 450; i++) expect(await stream.next()).toMatchObject({ data: { site_id: i } })
  })

  test.each([['999999999'], ['0']])('begins with a reset after %s, which is no event', async (id) => {
    const ada = await newCustomer()
    const stream = await follow(ada.token, '', { 'last-event-id': id })
    expect(await stream.next()).toEqual({ id: expect.any(String), event: 'reset', data: {} })
    await createSite(ada.token)
    expect(await stream.next()).toMatchObject({ event: 'site.created' })
  })

  test('begins with a reset after an event of another customer, as after one that is gone', async () => {
    const [ada, bob] = [await newCustomer(), await newCustomer()]
    await createSite(bob.token)
    const { data: events } = await panel.get<{ id: number }[]>('/events', bob.token)
    const stream = await follow(ada.token, '', { 'last-event-id': `${events[0]?.id}` })
    expect(await stream.next()).toMatchObject({ event: 'reset' })
  })

  test('shows a customer nothing of another, and an administrator everything', async () => {
    const [ada, bob] = [await newCustomer(), await newCustomer()]
    const [own, all] = [await follow(ada.token), await follow(await panel.admin())]
    await own.next()
    await all.next()
    const foreign = await createSite(bob.token)
    const mine = await createSite(ada.token)
    expect(await own.next()).toMatchObject({ data: { site_id: mine.id } })
    expect(await all.next()).toMatchObject({ data: { site_id: foreign.id } })
    expect(await all.next()).toMatchObject({ data: { site_id: mine.id } })
  })

  test('is of one subscription, the default one unless another is named', async () => {
    const ada = await newCustomer()
    const second = await panel.subscription(ada.id)
    const [first, named] = [await follow(ada.token), await follow(ada.token, `?subscription_id=${second}`)]
    await first.next()
    await named.next()
    const there = await createSite(ada.token, `?subscription_id=${second}`)
    const here = await createSite(ada.token)
    expect(await first.next()).toMatchObject({ data: { site_id: here.id } })
    expect(await named.next()).toMatchObject({ data: { site_id: there.id } })
  })

  test('is refused without a credential, to another customer, with bad input', async () => {
    const [ada, bob] = [await newCustomer(), await newCustomer()]
    expect((await panel.get('/events/stream')).status).toBe(401)
    expect((await panel.get(`/events/stream?subscription_id=${bob.subscription}`, ada.token)).status).toBe(403)
    expect((await panel.get('/events/stream?subscription_id=999999', ada.token)).status).toBe(404)
    expect((await panel.get('/events/stream?limit=1', ada.token)).status).toBe(422)
    const lastEventId = { headers: { 'last-event-id': 'x' }, as: ada.token }
    expect((await panel.send('GET', '/events/stream', lastEventId)).status).toBe(422)
    const key = await panel.key(ada.token, { scopes: ['sites:write'] })
    expect((await panel.get('/events/stream', key)).status).toBe(403)
  })

  test('answers HEAD with its headers alone, and leaves nothing open', async () => {
    const ada = await newCustomer()
    for (let i = 0; i < 6; i++) {
      const response = await fetch(`${panel.origin}/api/v1/events/stream`, {
        method: 'HEAD',
        headers: { authorization: `Bearer ${ada.token}` },
      })
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
    }
  })
})

describe('a stream ends', () => {
  async function expectEnd(stream: Awaited<ReturnType<typeof follow>>, reason: string): Promise<void> {
    expect(await stream.next()).toEqual({ event: 'end', data: { reason, message: expect.any(String) } })
    expect(await stream.next()).toBeUndefined()
  }
  /** An event is a reason to look again. */
  const stir = (subscription: number) =>
    change(`INSERT INTO events (subscription_id, site_id, kind, generation, details, created_at)
      VALUES (${subscription}, 1, 'site.active', 1, '{}', 0)`)

  const takings: [name: string, (ada: Customer, key: string) => string, string][] = [
    ['its user is disabled', ({ id }) => `UPDATE users SET status = 'disabled' WHERE id = ${id}`, 'not authenticated'],
    ['its session is logged out', ({ id }) => `DELETE FROM sessions WHERE user_id = ${id}`, 'not authenticated'],
    [
      'a second factor is required',
      () => `INSERT INTO settings VALUES ('requireTwoFactor', '"everyone"', 0)`,
      '2fa_enrolment_required',
    ],
  ]
  test.each(takings)('before the next event when %s', async (_, sql, reason) => {
    const ada = await newCustomer()
    const stream = await follow(ada.token)
    await stream.next()
    change(sql(ada, ''))
    stir(ada.subscription)
    await panel.services.commits.poll()
    await expectEnd(stream, reason)
    change(`DELETE FROM settings WHERE key = 'requireTwoFactor'`)
    await panel.services.commits.poll()
  })

  test('when its API key loses the scope', async () => {
    const ada = await newCustomer()
    const stream = await follow(await panel.key(ada.token))
    await stream.next()
    change(`UPDATE api_keys SET scopes = '["account:read"]' WHERE user_id = ${ada.id}`)
    stir(ada.subscription)
    await panel.services.commits.poll()
    await expectEnd(stream, 'scope_missing')
  })

  test('when its subscription goes to another customer', async () => {
    const [ada, bob] = [await newCustomer(), await newCustomer()]
    const stream = await follow(ada.token, `?subscription_id=${ada.subscription}`)
    await stream.next()
    change(`UPDATE subscriptions SET user_id = ${bob.id}, is_default = 0 WHERE id = ${ada.subscription}`)
    stir(ada.subscription)
    await panel.services.commits.poll()
    await expectEnd(stream, 'forbidden')
  })

  test('when another subscription becomes the default one', async () => {
    const ada = await newCustomer()
    const second = await panel.subscription(ada.id)
    const stream = await follow(ada.token)
    await stream.next()
    change(`UPDATE subscriptions SET is_default = (id = ${second}) WHERE user_id = ${ada.id}`)
    stir(ada.subscription)
    await panel.services.commits.poll()
    await expectEnd(stream, 'moved')
  })

  test('after an hour', async () => {
    const ada = await newCustomer()
    const stream = await follow(await panel.key(ada.token))
    await stream.next()
    panel.clock.advance(HOUR_SECONDS)
    stir(ada.subscription)
    await panel.services.commits.poll()
    await expectEnd(stream, 'hour_over')
  })
})

describe('of one user', () => {
  test('five streams are open at a time; another is refused until one is closed', async () => {
    const ada = await newCustomer()
    const streams = []
    for (let i = 0; i < 5; i++) streams.push(await follow(ada.token))
    for (const stream of streams) await stream.next()
    const refused = await panel.get('/events/stream', ada.token)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '10'])
    const bob = await newCustomer()
    await follow(bob.token)
    streams[0]?.cut()
    const status = await until('a free place', async () => {
      const answer = await panel.get('/events/stream', ada.token)
      return answer.status !== 429 && answer.status
    })
    expect(status).toBe(200)
  })
})
