/** API keys: shown once, stored as a hash, managed with a JWT only, worth as much as their user until they end. */
import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Customer, startPanel, usePanel } from '../../../harness/panel.ts'

type Created = {
  id: number
  name: string
  key: string
  key_prefix: string
  expires_at: string | null
  created_at: string
}
type Listed = Omit<Created, 'key'> & { last_used_at: string | null }

const DAY_SECONDS = 86_400
const NAME_RULE = 'name: must be 1 to 100 characters, without control characters'
const DIRECTION_RULE = 'name: must not hold characters that change the direction or the line of text'
const VISIBLE_RULE = 'name: must hold a visible character'
const TIME_RULE = 'expires_at: must be an RFC 3339 date-time with an offset, such as 2027-12-31T23:59:59Z'

const panel = await usePanel()
const ada = await panel.customer()
await panel.subscription(ada.id)

const create = (body: unknown, as = ada.token) => panel.post<Created>('/auth/api-keys', as, body)
const list = async (as = ada.token) => (await panel.get<Listed[]>('/auth/api-keys', as)).data
const after = (seconds: number) => new Date(panel.clock.now() + seconds * 1000).toISOString()
/** A customer with a subscription, so that a key has something to list. */
async function hosted(): Promise<Customer> {
  const customer = await panel.customer()
  await panel.subscription(customer.id)
  return customer
}

describe('creating a key', () => {
  test('returns exactly what the contract says', async () => {
    const answer = await create({ name: 'Deploy', expires_at: '2099-12-31T23:59:59Z' })
    expect([answer.status, answer.message]).toEqual([201, 'API key created'])
    const { key } = answer.data
    expect(key).toMatch(/^ncp_[0-9a-f]{64}$/)
    expect(key).toHaveLength(68)
    expect(answer.data).toEqual({
      id: expect.any(Number),
      name: 'Deploy',
      key,
      key_prefix: key.slice(0, 20),
      expires_at: '2099-12-31T23:59:59.000Z',
      created_at: after(0),
    })
  })

  test('accepts the null that it returns for a key without an expiry', async () => {
    const { data } = await create({ name: 'Everlasting', expires_at: null })
    expect(data.expires_at).toBeNull()
    const { name, expires_at } = data
    expect((await create({ name, expires_at })).status).toBe(201)
  })

  test.each(['مفتاح النشر', 'דואר\u200f', '👩\u200d💻 deploy', 'नमस्ते'])('accepts the name %s', async (name) => {
    expect((await create({ name })).data.name).toBe(name)
  })

  test('without expires_at creates one that is valid until it is deleted', async () => {
    // Its own panel, whose clock can go far.
    const future = await startPanel()
    const bob = await future.customer()
    await future.subscription(bob.id)
    const { data } = await future.post<Created>('/auth/api-keys', bob.token, { name: 'Forever' })
    expect(data.expires_at).toBeNull()
    future.clock.advance(100 * 365 * DAY_SECONDS)
    expect((await future.get('/sites', bob.token)).status).toBe(401)
    expect((await future.get('/sites', data.key)).status).toBe(200)
    await future.stop()
  })

  test('creates a different key each time, even under the same name', async () => {
    const made = await Promise.all(Array.from({ length: 10 }, () => create({ name: 'Same' })))
    expect(new Set(made.map(({ data }) => data.key)).size).toBe(10)
    expect(new Set(made.map(({ data }) => data.id)).size).toBe(10)
  })

  test.each([
    ['one character', 'x'],
    ['100 characters', 'x'.repeat(100)],
    ['100 emoji', '\u{1f511}'.repeat(100)],
    ['letters of any language', 'Schlüssel für später — 鍵'],
    ['quotes and markup, as they are', `'"; DROP TABLE api_keys; -- <b>&amp;\\`],
  ])('accepts a name of %s', async (_, name) => {
    const answer = await create({ name })
    expect([answer.status, answer.data.name]).toEqual([201, name])
    expect((await list()).at(-1)?.name).toBe(name)
  })

  test.each([
    ['2099-06-15T12:00:00Z', '2099-06-15T12:00:00.000Z'],
    ['2099-06-15t12:00:00z', '2099-06-15T12:00:00.000Z'],
    ['2099-06-15T12:00:00+02:00', '2099-06-15T10:00:00.000Z'],
    ['2099-12-31T23:30:00-01:00', '2100-01-01T00:30:00.000Z'],
    ['2099-06-15T12:00:00-00:00', '2099-06-15T12:00:00.000Z'],
    ['2099-06-15T12:00:00.5Z', '2099-06-15T12:00:00.500Z'],
    ['2096-02-29T12:00:00Z', '2096-02-29T12:00:00.000Z'],
  ])('accepts the expiry %s and answers in UTC', async (expiresAt, normalised) => {
    const { status, data } = await create({ name: 'Expiring', expires_at: expiresAt })
    expect([status, data.expires_at]).toEqual([201, normalised])
    expect((await list()).at(-1)?.expires_at).toBe(normalised)
  })

  test.each<[unknown, number, string]>([
    [{}, 400, 'name: is required'],
    [{ expires_at: '2099-01-01T00:00:00Z' }, 400, 'name: is required'],
    [{ name: 1 }, 400, 'name: must be a string'],
    [{ name: null }, 400, 'name: must be a string'],
    [{ name: ['x'] }, 400, 'name: must be a string'],
    [{ name: '' }, 422, NAME_RULE],
    [{ name: 'x'.repeat(101) }, 422, NAME_RULE],
    [{ name: '\u{1f511}'.repeat(101) }, 422, NAME_RULE],
    [{ name: 'a\nb' }, 422, NAME_RULE],
    [{ name: 'a\u0000b' }, 422, NAME_RULE],
    [{ name: 'a\u001b[31mb' }, 422, NAME_RULE],
    [{ name: 'a\u0085b' }, 422, NAME_RULE],
    [{ name: '\ud83d' }, 422, NAME_RULE],
    [{ name: 'invoice\u202egpj.exe' }, 422, DIRECTION_RULE],
    [{ name: 'a\u2066b\u2069' }, 422, DIRECTION_RULE],
    [{ name: 'a\u2028b' }, 422, DIRECTION_RULE],
    [{ name: '   ' }, 422, VISIBLE_RULE],
    [{ name: '\u00a0\u200b\u3164' }, 422, VISIBLE_RULE],
    [{ name: 'x', expires_at: 4102444800 }, 400, 'expires_at: must be a string or null'],
    [{ name: 'x', expires_at: true }, 400, 'expires_at: must be a string or null'],
    [{ name: 'x', expires_at: '' }, 422, TIME_RULE],
    [{ name: 'x', expires_at: '1' }, 422, TIME_RULE],
    [{ name: 'x', expires_at: '4102444800' }, 422, TIME_RULE],
    [{ name: 'x', expires_at: '2099-01-01' }, 422, TIME_RULE],
    [{ name: 'x', expires_at: '2099-01-01T00:00:00' }, 422, TIME_RULE],
    [{ name: 'x', expires_at: '2099-01-01 00:00:00Z' }, 422, TIME_RULE],
    [{ name: 'x', expires_at: ' 2099-01-01T00:00:00Z' }, 422, TIME_RULE],
    [{ name: 'x', expires_at: '2099-02-30T00:00:00Z' }, 422, TIME_RULE],
    [{ name: 'x', expires_at: '2099-02-29T00:00:00Z' }, 422, TIME_RULE],
    [{ name: 'x', expires_at: '2099-13-01T00:00:00Z' }, 422, TIME_RULE],
    [{ name: 'x', expires_at: '2099-01-01T24:00:00Z' }, 422, TIME_RULE],
    [{ name: 'x', expires_at: '2099-01-01T00:60:00Z' }, 422, TIME_RULE],
    [{ name: 'x', expires_at: '2099-01-01T00:00:60Z' }, 422, TIME_RULE],
    [{ name: 'x', expires_at: '2099-01-01T00:00:00+24:00' }, 422, TIME_RULE],
    [{ name: 'x', expires_at: '10000-01-01T00:00:00Z' }, 422, TIME_RULE],
    [{ name: 'x', expires_at: '+010000-01-01T00:00:00Z' }, 422, TIME_RULE],
    [{ name: 'x', expires_at: '2000-01-01T00:00:00Z' }, 422, 'expires_at: must be in the future'],
    [{ name: 'x', expire_at: '2099-01-01T00:00:00Z' }, 422, 'expire_at: is not a known field'],
    [{ name: 'x', user_id: 1 }, 422, 'user_id: is not a known field'],
    [{ name: 'x', key: `ncp_${'0'.repeat(64)}` }, 422, 'key: is not a known field'],
    [{ name: 'x', key_prefix: 'ncp_0' }, 422, 'key_prefix: is not a known field'],
    [{ name: 'x', role: 'admin' }, 422, 'role: is not a known field'],
  ])('refuses %j, and stores nothing', async (body, status, message) => {
    const before = await list()
    const answer = await create(body)
    expect([answer.status, answer.message]).toEqual([status, message])
    expect(answer.error).toBe(status === 400 ? 'bad request' : 'validation error')
    expect(await list()).toEqual(before)
  })

  test('refuses an expiry of now, and accepts the next millisecond', async () => {
    const refused = await create({ name: 'Now', expires_at: after(0) })
    expect([refused.status, refused.message]).toEqual([422, 'expires_at: must be in the future'])
    expect((await create({ name: 'Next', expires_at: after(0.001) })).status).toBe(201)
  })

  test('refuses an expiry whose offset moves it beyond the year 9999', async () => {
    const bob = await panel.customer()
    const answer = await create({ name: 'x', expires_at: '9999-12-31T23:59:59-01:00' }, bob.token)
    expect([answer.status, answer.message]).toEqual([422, TIME_RULE])
  })

  test('refuses __proto__ as a field', async () => {
    const rawBody = '{"name":"x","__proto__":{"expires_at":"2099-01-01T00:00:00Z"}}'
    const answer = await panel.send('POST', '/auth/api-keys', { as: ada.token, rawBody })
    expect([answer.status, answer.message]).toEqual([422, '__proto__: is not a known field'])
  })
})

describe('the secret', () => {
  test('is in no other response', async () => {
    const { data: made } = await create({ name: 'Secret' })
    const answers = await Promise.all([
      panel.get('/auth/api-keys', ada.token),
      panel.get('/auth/me', made.key),
      panel.get('/sites', made.key),
      panel.post('/auth/api-keys', made.key, { name: 'x' }),
    ])
    for (const answer of answers) expect(JSON.stringify(answer.data) + answer.message).not.toContain(made.key.slice(20))
    expect(Object.keys((await list()).at(-1) ?? {}).sort()).toEqual([
      'created_at',
      'expires_at',
      'id',
      'key_prefix',
      'last_used_at',
      'name',
    ])
  })

  test('appears nowhere in the data directory except as its SHA-256', async () => {
    const { data: made } = await create({ name: 'Stored' })
    await panel.get('/sites', made.key)
    await list()
    const entries = readdirSync(panel.data, { withFileTypes: true }).filter((entry) => entry.isFile())
    const files = entries.map(({ name }) => readFileSync(join(panel.data, name)))
    expect(files.length).toBeGreaterThan(3)
    const holds = (needle: string | Buffer) => files.some((file) => file.includes(needle))
    expect(holds(Bun.SHA256.hash(made.key, 'hex'))).toBe(true)
    expect(holds(made.key_prefix)).toBe(true)
    const random = made.key.slice('ncp_'.length)
    expect(holds(random)).toBe(false)
    expect(holds(made.key.slice(0, 24))).toBe(false)
    expect(holds(random.slice(16))).toBe(false)
    expect(holds(Buffer.from(random, 'hex'))).toBe(false)
    expect(holds(Buffer.from(random, 'hex').toString('base64').slice(0, -2))).toBe(false)
  })
})

describe('the list', () => {
  test('has the caller’s own keys, oldest first, exactly as the contract says', async () => {
    const bob = await panel.customer()
    expect(await list(bob.token)).toEqual([])
    const first = (await create({ name: 'First' }, bob.token)).data
    const second = (await create({ name: 'Second', expires_at: '2099-01-01T00:00:00Z' }, bob.token)).data
    const answer = await panel.get<Listed[]>('/auth/api-keys', bob.token)
    expect([answer.status, answer.message, answer.headers.get('link')]).toEqual([200, '', null])
    const shown = ({ id, name, key_prefix, expires_at, created_at }: Created) => ({
      id,
      name,
      key_prefix,
      last_used_at: null,
      expires_at,
      created_at,
    })
    expect(answer.data).toEqual([shown(first), shown(second)])
  })

  test('shows in the very next request when a key was last used', async () => {
    const bob = await hosted()
    const { key } = (await create({ name: 'Used' }, bob.token)).data
    await create({ name: 'Unused' }, bob.token)
    const lastUsed = async () => (await list(bob.token)).map(({ last_used_at }) => last_used_at)
    expect(await lastUsed()).toEqual([null, null])
    panel.clock.advance(10)
    await panel.get('/sites', key)
    const firstUse = after(0)
    panel.clock.advance(10)
    expect(await lastUsed()).toEqual([firstUse, null])
    await panel.get('/sites/999999', key)
    expect(await lastUsed()).toEqual([after(0), null])
  })

  test('does not count a refused attempt with an expired key as a use', async () => {
    const bob = await hosted()
    const { key } = (await create({ name: 'Expiring', expires_at: after(10) }, bob.token)).data
    panel.clock.advance(20)
    expect((await panel.get('/sites', key)).status).toBe(401)
    expect((await list(bob.token)).map(({ last_used_at }) => last_used_at)).toEqual([null])
  })

  test('is paginated', async () => {
    const bob = await panel.customer()
    const made: number[] = []
    for (const name of ['a', 'b', 'c']) made.push((await create({ name }, bob.token)).data.id)
    const first = await panel.get<Listed[]>('/auth/api-keys?limit=2', bob.token)
    const next = /^<([^>]+)>; rel="next"$/.exec(first.headers.get('link') ?? '')?.[1] ?? ''
    const second = await panel.get<Listed[]>(next, bob.token)
    expect([...first.data, ...second.data].map(({ id }) => id)).toEqual(made)
    expect(second.headers.get('link')).toBeNull()
  })

  test.each([
    ['limit=0', 422, 'limit: must be from 1 to 1000'],
    ['limit=1001', 422, 'limit: must be from 1 to 1000'],
    ['limit=x', 400, 'limit: must be an integer'],
    ['cursor=bWFkZSB1cA', 422, 'cursor: take it unchanged from the Link header of the previous page'],
    ['user_id=1', 422, 'user_id: is not a known field'],
  ])('refuses ?%s', async (query, status, message) => {
    const answer = await panel.get(`/auth/api-keys?${query}`, ada.token)
    expect([answer.status, answer.message]).toEqual([status, message])
  })
})

describe('a key', () => {
  test('works where a JWT does, with the scheme in any case', async () => {
    const bob = await hosted()
    const key = await panel.key(bob.token)
    expect((await panel.get('/sites', key)).status).toBe(200)
    expect((await panel.post('/sites', key, { domain: 'by-key.example' })).status).toBe(201)
    expect((await panel.send('GET', '/sites', { headers: { authorization: `bEARER ${key}` } })).status).toBe(200)
  })

  test('works until just before its expiry, and not from that instant on', async () => {
    const bob = await hosted()
    const key = await panel.key(bob.token, { expires_at: after(60) })
    panel.clock.advance(59.999)
    expect((await panel.get('/sites', key)).status).toBe(200)
    panel.clock.advance(0.001)
    const answer = await panel.get('/sites', key)
    expect([answer.status, answer.error, answer.message]).toEqual([401, 'not authenticated', 'Authentication required'])
    expect(answer.headers.get('www-authenticate')).toStartWith('Bearer realm="ncp", error="invalid_token"')
  })

  test.each<[string, (key: string) => string]>([
    ['with another last digit', (key) => key.slice(0, -1) + (key.endsWith('0') ? '1' : '0')],
    ['cut to its prefix', (key) => key.slice(0, 20)],
    ['with an extra character', (key) => `${key}0`],
    ['in upper case', (key) => `ncp_${key.slice(4).toUpperCase()}`],
    ['without ncp_', (key) => key.slice(4)],
    ['as its own hash', (key) => Bun.SHA256.hash(key, 'hex')],
    ['as ncp_ and its own hash', (key) => `ncp_${Bun.SHA256.hash(key, 'hex')}`],
  ])('%s is 401', async (_, change) => {
    // Digits alone would be the same in upper case.
    let key = await panel.key(ada.token)
    while (!/[a-f]/.test(key.slice(4))) key = await panel.key(ada.token)
    expect((await panel.get('/sites', key)).status).toBe(200)
    expect((await panel.get('/sites', change(key))).status).toBe(401)
  })

  test('of a disabled user is 401 at the next request, and works again once enabled', async () => {
    const bob = await hosted()
    const key = await panel.key(bob.token)
    const admin = await panel.admin()
    expect((await panel.get('/sites', key)).status).toBe(200)
    await panel.patch(`/admin/users/${bob.id}`, admin, { status: 'disabled' })
    expect((await panel.get('/sites', key)).status).toBe(401)
    expect((await panel.get('/sites', bob.token)).status).toBe(401)
    await panel.patch(`/admin/users/${bob.id}`, admin, { status: 'active' })
    expect((await panel.get('/sites', key)).status).toBe(200)
    expect((await panel.get('/sites', bob.token)).status).toBe(401)
  })

  test('has the current role of its user', async () => {
    const bob = await panel.customer('admin')
    const key = await panel.key(bob.token)
    expect((await panel.get('/admin/users', key)).status).toBe(200)
    await panel.patch(`/admin/users/${bob.id}`, await panel.admin(), { role: 'customer' })
    expect((await panel.get('/admin/users', key)).status).toBe(403)
    expect((await panel.get('/auth/me', key)).status).toBe(200)
  })
})

describe('deleting a key', () => {
  test('ends it at the next request, and leaves the others', async () => {
    const bob = await hosted()
    const doomed = (await create({ name: 'Doomed' }, bob.token)).data
    const other = (await create({ name: 'Other' }, bob.token)).data
    expect((await panel.get('/sites', doomed.key)).status).toBe(200)
    const answer = await panel.delete(`/auth/api-keys/${doomed.id}`, bob.token)
    expect([answer.status, answer.data, answer.message]).toEqual([200, null, 'API key deleted'])
    expect((await panel.get('/sites', doomed.key)).status).toBe(401)
    expect((await panel.get('/sites', other.key)).status).toBe(200)
    expect((await list(bob.token)).map(({ id }) => id)).toEqual([other.id])
    const again = await panel.delete(`/auth/api-keys/${doomed.id}`, bob.token)
    expect([again.status, again.error, again.message]).toEqual([404, 'not found', 'No such API key'])
  })

  test('never gives its id to another key', async () => {
    const bob = await panel.customer()
    const { id } = (await create({ name: 'Last' }, bob.token)).data
    await panel.delete(`/auth/api-keys/${id}`, bob.token)
    expect((await create({ name: 'New' }, bob.token)).data.id).toBeGreaterThan(id)
  })

  test('in parallel succeeds once', async () => {
    const { id } = (await create({ name: 'Contested' })).data
    const answers = await Promise.all(Array.from({ length: 10 }, () => panel.delete(`/auth/api-keys/${id}`, ada.token)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(404)])
  })

  test.each([
    ['0', 404, 'No such API key'],
    ['-1', 404, 'No such API key'],
    ['999999', 404, 'No such API key'],
    ['9007199254740993', 404, 'No such API key'],
    ['abc', 400, 'id: must be an integer'],
    ['1.5', 400, 'id: must be an integer'],
    ['%2531', 400, 'id: must be an integer'],
    ['1%20', 400, 'id: must be an integer'],
  ])('%s is %i', async (id, status, message) => {
    const answer = await panel.delete(`/auth/api-keys/${id}`, ada.token)
    expect([answer.status, answer.message]).toEqual([status, message])
  })

  test.each(['customer', 'admin'] as const)(
    'of another user is 403 for a %s, and the key keeps working',
    async (role) => {
      const bob = await hosted()
      const { id, key } = (await create({ name: "Bob's" }, bob.token)).data
      const stranger = await panel.customer(role)
      const answer = await panel.delete(`/auth/api-keys/${id}`, stranger.token)
      expect([answer.status, answer.error, answer.message]).toEqual([403, 'forbidden', "This is another user's key"])
      expect((await panel.get('/sites', key)).status).toBe(200)
    },
  )
})

describe('key management', () => {
  test.each(['customer', 'admin'] as const)('is 403 for an API key of a %s, and changes nothing', async (role) => {
    const bob = await panel.customer(role)
    const { id, key } = (await create({ name: 'Only' }, bob.token)).data
    const answers = [
      await panel.post('/auth/api-keys', key, { name: 'More' }),
      // Refused before the body is looked at.
      await panel.post('/auth/api-keys', key, { nonsense: true }),
      await panel.get('/auth/api-keys', key),
      await panel.delete(`/auth/api-keys/${id}`, key),
      await panel.delete('/auth/api-keys/999999', key),
    ]
    for (const { status, error, message } of answers) {
      expect([status, error, message]).toEqual([403, 'forbidden', 'An API key cannot do this; log in and use the JWT'])
    }
    expect((await list(bob.token)).map((shown) => shown.id)).toEqual([id])
  })

  test.each([
    ['POST', '/auth/api-keys', { name: 'x' }],
    ['GET', '/auth/api-keys', undefined],
    ['DELETE', '/auth/api-keys/1', undefined],
  ])('without a credential is 401: %s %s', async (method, path, body) => {
    for (const headers of [{}, { authorization: 'Bearer nonsense' }]) {
      const answer = await panel.send(method, path, { headers, ...(body && { body }) })
      expect([answer.status, answer.error, answer.message]).toEqual([
        401,
        'not authenticated',
        'Authentication required',
      ])
    }
  })

  test('with the JWT of a disabled user is 401, and creates nothing', async () => {
    const bob = await panel.customer()
    const admin = await panel.admin()
    await panel.patch(`/admin/users/${bob.id}`, admin, { status: 'disabled' })
    expect((await create({ name: 'Too late' }, bob.token)).status).toBe(401)
    await panel.patch(`/admin/users/${bob.id}`, admin, { status: 'active' })
    expect(await list(await panel.login(bob.email))).toEqual([])
  })
})
