/** Subscriptions: a customer's own, with one default among them, and all users' for administrators. */
import { describe, expect, test } from 'bun:test'
import { usePanel } from '../../../harness/panel.ts'

type Subscription = {
  id: number
  user_id: number
  name: string
  status: string
  is_default: boolean
  max_sites: number
  node_id: number | null
  created_at: string
  updated_at: string
}

const NAME_RULE = 'name: must be 1 to 100 characters, without control characters'
/** The limits, unless others are set. */
const LIMITS = {
  php_workers: 5,
  php_memory_mb: 256,
  php_seconds: 60,
  php_upload_mb: 64,
  max_disk_bytes: 0,
  max_archive_bytes: 536_870_912,
  max_unpacked_bytes: 2_147_483_648,
  max_files: 100_000,
  limits: { disk: { max_bytes: null, used_bytes: null, enforced: 'measured' } },
}
const MAX_SITES_RULE = 'max_sites: must be from 0 to 1000000'
const DEFAULT_RULE = 'is_default: must be true; make another subscription the default instead'

const panel = await usePanel()
const admin = await panel.admin()
const ada = await panel.customer()
await panel.subscription(ada.id)
const bob = await panel.customer()
const bobs = await panel.subscription(bob.id)

const create = (body: unknown, as = admin) => panel.post<Subscription>('/admin/subscriptions', as, body)
const own = async (as: string) => (await panel.get<Subscription[]>('/subscriptions?limit=1000', as)).data
const all = async () => (await panel.get<Subscription[]>('/admin/subscriptions?limit=1000', admin)).data
const get = async (id: number) => (await panel.get<Subscription>(`/admin/subscriptions/${id}`, admin)).data
const defaultsOf = (rows: Subscription[]) => rows.filter((row) => row.is_default).map(({ id }) => id)
const now = () => new Date(panel.clock.now()).toISOString()
const nextOf = (headers: Headers) => /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1] ?? ''

const missing: [string, number, string][] = [
  ['0', 404, 'No such subscription'],
  ['-1', 404, 'No such subscription'],
  ['999999', 404, 'No such subscription'],
  ['9007199254740993', 404, 'No such subscription'],
  ['abc', 400, 'id: must be an integer'],
  ['1.5', 400, 'id: must be an integer'],
  ['%2531', 400, 'id: must be an integer'],
]

const badPages: [string, number][] = [
  ['limit=0', 422],
  ['limit=1001', 422],
  ['limit=x', 400],
  ['limit=1&limit=1', 400],
  ['cursor=bWFkZSB1cA', 422],
  ['offset=1', 422],
]

describe('a customer’s list', () => {
  test('has the customer’s own, exactly as the design says, and no others', async () => {
    const carl = await panel.customer()
    const answer = await panel.get<Subscription[]>('/subscriptions', carl.token)
    expect([answer.status, answer.message, answer.data]).toEqual([200, '', []])
    const first = await panel.subscription(carl.id, { name: 'First', max_sites: 5 })
    const second = await panel.subscription(carl.id, { name: 'Second' })
    const shared = {
      user_id: carl.id,
      status: 'active',
      ...LIMITS,
      node_id: null,
      created_at: now(),
      updated_at: now(),
    }
    expect(await own(carl.token)).toEqual([
      { id: first, name: 'First', is_default: true, max_sites: 5, ...shared },
      { id: second, name: 'Second', is_default: false, max_sites: 0, ...shared },
    ])
    expect(await own(await panel.key(carl.token))).toHaveLength(2)
  })

  test('is paginated', async () => {
    const carl = await panel.customer()
    const ids: number[] = []
    for (let n = 0; n < 3; n++) ids.push(await panel.subscription(carl.id))
    const first = await panel.get<Subscription[]>('/subscriptions?limit=2', carl.token)
    const second = await panel.get<Subscription[]>(nextOf(first.headers), carl.token)
    expect([first.data, second.data].map((page) => page.map(({ id }) => id))).toEqual([ids.slice(0, 2), ids.slice(2)])
    expect(second.headers.get('link')).toBeNull()
  })

  test.each([...badPages, ['user_id=1', 422] as [string, number]])('with ?%s is refused', async (query, status) => {
    const answer = await panel.get(`/subscriptions?${query}`, ada.token)
    expect([answer.status, answer.error]).toEqual([status, status === 400 ? 'bad request' : 'validation error'])
  })
})

describe('the default', () => {
  test('is moved by its customer, and there is always exactly one', async () => {
    const carl = await panel.customer()
    const [first, second] = [await panel.subscription(carl.id), await panel.subscription(carl.id)]
    expect(defaultsOf(await own(carl.token))).toEqual([first])
    panel.clock.advance(1)
    const answer = await panel.patch<Subscription>(`/subscriptions/${second}`, carl.token, { is_default: true })
    expect([answer.status, answer.message]).toEqual([200, 'Subscription changed'])
    expect(answer.data).toMatchObject({ id: second, is_default: true, updated_at: now() })
    const after = await own(carl.token)
    expect(defaultsOf(after)).toEqual([second])
    expect(after[0]?.updated_at).toBe(now())
    await panel.patch(`/subscriptions/${second}`, carl.token, { is_default: true })
    expect(defaultsOf(await own(carl.token))).toEqual([second])
  })

  test('can be moved by a key too', async () => {
    const carl = await panel.customer()
    await panel.subscription(carl.id)
    const second = await panel.subscription(carl.id)
    const answer = await panel.patch(`/subscriptions/${second}`, await panel.key(carl.token), { is_default: true })
    expect(answer.status).toBe(200)
    expect(defaultsOf(await own(carl.token))).toEqual([second])
  })

  test('cannot be removed, neither by its customer nor by an administrator', async () => {
    const carl = await panel.customer()
    const [first, second] = [await panel.subscription(carl.id), await panel.subscription(carl.id)]
    for (const id of [first, second]) {
      for (const answer of [
        await panel.patch(`/subscriptions/${id}`, carl.token, { is_default: false }),
        await panel.patch(`/admin/subscriptions/${id}`, admin, { is_default: false, name: 'Changed' }),
      ]) {
        expect([answer.status, answer.error, answer.message]).toEqual([422, 'validation error', DEFAULT_RULE])
      }
    }
    expect((await own(carl.token)).map(({ name, is_default }) => [name, is_default])).toEqual([
      ['Hosting', true],
      ['Hosting', false],
    ])
  })

  test('is exactly one after requests in parallel', async () => {
    const carl = await panel.customer()
    const ids = [
      await panel.subscription(carl.id),
      await panel.subscription(carl.id),
      await panel.subscription(carl.id),
    ]
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        panel.patch(`/subscriptions/${ids[n % 3]}`, carl.token, { is_default: true }),
      ),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(defaultsOf(await own(carl.token))).toHaveLength(1)
  })

  test('is exactly one after a user’s first subscriptions were created in parallel', async () => {
    const carl = await panel.customer()
    const made = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        create({ user_id: carl.id, name: 'Hosting', ...(n % 2 && { is_default: true }) }),
      ),
    )
    expect(new Set(made.map(({ status }) => status))).toEqual(new Set([201]))
    expect(defaultsOf(await own(carl.token))).toHaveLength(1)
  })

  test('of one customer does not affect another’s', async () => {
    const before = defaultsOf(await own(bob.token))
    const carl = await panel.customer()
    await panel.subscription(carl.id)
    const second = await panel.subscription(carl.id)
    await panel.patch(`/subscriptions/${second}`, carl.token, { is_default: true })
    expect(defaultsOf(await own(bob.token))).toEqual(before)
  })

  test.each<[unknown, number, string]>([
    [{ is_default: 'true' }, 400, 'is_default: must be a boolean'],
    [{ is_default: 1 }, 400, 'is_default: must be a boolean'],
    [{ is_default: null }, 400, 'is_default: must be a boolean'],
    [{ is_default: true, name: 'Mine' }, 422, 'name: is not a known field'],
    [{ is_default: true, max_sites: 0 }, 422, 'max_sites: is not a known field'],
    [{ is_default: true, status: 'active' }, 422, 'status: is not a known field'],
    [{ is_default: true, user_id: 1 }, 422, 'user_id: is not a known field'],
    [[], 400, 'body: must be an object'],
  ])('is not moved by %j', async (body, status, message) => {
    const carl = await panel.customer()
    await panel.subscription(carl.id)
    const second = await panel.subscription(carl.id)
    const before = await own(carl.token)
    const answer = await panel.patch(`/subscriptions/${second}`, carl.token, body)
    expect([answer.status, answer.message]).toEqual([status, message])
    expect(await own(carl.token)).toEqual(before)
  })

  test('of another customer is 403 and stays', async () => {
    const second = await panel.subscription(bob.id)
    const before = await own(bob.token)
    for (const credential of [ada.token, await panel.key(ada.token)]) {
      for (const body of [{ is_default: true }, { is_default: false }, {}]) {
        const answer = await panel.patch(`/subscriptions/${second}`, credential, body)
        expect([answer.status, answer.error, answer.message]).toEqual([
          403,
          'forbidden',
          'This subscription belongs to another customer',
        ])
      }
    }
    expect(await own(bob.token)).toEqual(before)
  })

  test.each(missing)('of /subscriptions/%s is %i', async (id, status, message) => {
    const answer = await panel.patch(`/subscriptions/${id}`, ada.token, { is_default: true })
    expect([answer.status, answer.message]).toEqual([status, message])
  })
})

describe('an administrator', () => {
  test('creates a subscription, exactly as the design says; a user’s first is the default', async () => {
    const carl = await panel.customer()
    const answer = await create({ user_id: carl.id, name: 'Business', max_sites: 10 })
    expect([answer.status, answer.message]).toEqual([201, 'Subscription created'])
    expect(answer.data).toEqual({
      id: expect.any(Number),
      user_id: carl.id,
      name: 'Business',
      status: 'active',
      is_default: true,
      max_sites: 10,
      ...LIMITS,
      node_id: null,
      created_at: now(),
      updated_at: now(),
    })
    expect(await own(carl.token)).toEqual([answer.data])
    const shown = await panel.get<Subscription>(`/admin/subscriptions/${answer.data.id}`, admin)
    expect([shown.status, shown.message, shown.data]).toEqual([200, '', answer.data])
  })

  test('creates a first one as the default even when asked not to, and later ones only when asked', async () => {
    const carl = await panel.customer()
    const ids: number[] = []
    const add = async (body: object) => {
      const { data } = await create({ user_id: carl.id, name: 'Hosting', ...body })
      ids.push(data.id)
      return data.is_default
    }
    expect(await add({ is_default: false })).toBe(true)
    expect(await add({})).toBe(false)
    expect(await add({ is_default: false })).toBe(false)
    expect(defaultsOf(await own(carl.token))).toEqual([ids[0] ?? 0])
    expect(await add({ is_default: true })).toBe(true)
    expect(defaultsOf(await own(carl.token))).toEqual([ids[3] ?? 0])
  })

  test('sets a limit up to a million, or 0 for no limit', async () => {
    for (const max_sites of [0, 1, 1_000_000]) {
      const { status, data } = await create({ user_id: ada.id, name: 'Hosting', max_sites })
      expect([status, data.max_sites]).toEqual([201, max_sites])
    }
    expect((await create({ user_id: ada.id, name: 'Hosting' })).data.max_sites).toBe(0)
  })

  test('can do all of it with an API key as well', async () => {
    const key = await panel.key(admin)
    const { status, data } = await create({ user_id: ada.id, name: 'By key' }, key)
    expect(status).toBe(201)
    expect((await panel.patch(`/admin/subscriptions/${data.id}`, key, { name: 'Changed' })).status).toBe(200)
    expect((await panel.get('/admin/subscriptions', key)).status).toBe(200)
  })

  test.each<[object, number, string]>([
    [{ user_id: undefined }, 400, 'user_id: is required'],
    [{ name: undefined }, 400, 'name: is required'],
    [{ user_id: '1' }, 400, 'user_id: must be an integer'],
    [{ user_id: 1.5 }, 400, 'user_id: must be an integer'],
    [{ user_id: null }, 400, 'user_id: must be an integer'],
    [{ user_id: 999_999 }, 404, 'user_id: no such user'],
    [{ user_id: 0 }, 404, 'user_id: no such user'],
    [{ user_id: -1 }, 404, 'user_id: no such user'],
    [{ user_id: 2 ** 53 + 2 }, 404, 'user_id: no such user'],
    [{ name: 1 }, 400, 'name: must be a string'],
    [{ name: '' }, 422, NAME_RULE],
    [{ name: 'x'.repeat(101) }, 422, NAME_RULE],
    [{ name: 'a\nb' }, 422, NAME_RULE],
    [{ max_sites: -1 }, 422, MAX_SITES_RULE],
    [{ max_sites: 1_000_001 }, 422, MAX_SITES_RULE],
    [{ max_sites: 1e300 }, 422, MAX_SITES_RULE],
    [{ max_sites: 1.5 }, 400, 'max_sites: must be an integer'],
    [{ max_sites: '10' }, 400, 'max_sites: must be an integer'],
    [{ max_sites: null }, 400, 'max_sites: must be an integer'],
    [{ max_sites: true }, 400, 'max_sites: must be an integer'],
    [{ is_default: 'true' }, 400, 'is_default: must be a boolean'],
    [{ is_default: null }, 400, 'is_default: must be a boolean'],
    [{ id: 1 }, 422, 'id: is not a known field'],
    [{ status: 'active' }, 422, 'status: is not a known field'],
    [{ max_site: 1 }, 422, 'max_site: is not a known field'],
  ])('creates none with %j', async (wrong, status, message) => {
    const before = await all()
    const answer = await create({ user_id: ada.id, name: 'Hosting', ...wrong })
    expect([answer.status, answer.message]).toEqual([status, message])
    expect(await all()).toEqual(before)
  })

  test('changes one, and absent fields stay', async () => {
    const carl = await panel.customer()
    await panel.subscription(carl.id)
    const { data: made } = await create({ user_id: carl.id, name: 'Before', max_sites: 3 })
    let expected = made
    for (const change of [
      { name: 'After' },
      { max_sites: 0 },
      { status: 'suspended' },
      { status: 'active', max_sites: 7 },
      { is_default: true },
    ]) {
      panel.clock.advance(1)
      const answer = await panel.patch<Subscription>(`/admin/subscriptions/${made.id}`, admin, change)
      expected = { ...expected, ...change, updated_at: now() }
      expect([answer.status, answer.message, answer.data]).toEqual([200, 'Subscription changed', expected])
      expect(await get(made.id)).toEqual(expected)
    }
    expect(defaultsOf(await own(carl.token))).toEqual([made.id])
  })

  test.each<[object, number, string]>([
    [{ name: null }, 400, 'name: must be a string'],
    [{ name: '' }, 422, NAME_RULE],
    [{ status: 1 }, 400, 'status: must be a string'],
    [{ status: 'disabled' }, 422, 'status: must be one of active, suspended'],
    [{ max_sites: -1 }, 422, MAX_SITES_RULE],
    [{ max_sites: 0.5 }, 400, 'max_sites: must be an integer'],
    [{ is_default: 0 }, 400, 'is_default: must be a boolean'],
    [{ user_id: 'ada' }, 400, 'user_id: must be an integer'],
    [{ user_id: 999_999 }, 404, 'user_id: no such user'],
    [{ id: 1 }, 422, 'id: is not a known field'],
  ])('changes nothing with %j', async (wrong, status, message) => {
    const before = await get(bobs)
    // Something valid beside it must not be stored either.
    const body = { ...('name' in wrong ? { max_sites: 9 } : { name: 'Changed' }), ...wrong }
    const answer = await panel.patch(`/admin/subscriptions/${bobs}`, admin, body)
    expect([answer.status, answer.message]).toEqual([status, message])
    expect(await get(bobs)).toEqual(before)
  })

  test('lists all, or those of one user, in pages that keep the filter', async () => {
    const carl = await panel.customer()
    const ids: number[] = []
    for (let n = 0; n < 5; n++) {
      ids.push(await panel.subscription(carl.id))
      await panel.subscription(ada.id)
    }
    expect((await all()).map(({ id }) => id)).toEqual(expect.arrayContaining([...ids, bobs]))

    const seen: number[] = []
    for (let next = `/admin/subscriptions?limit=2&user_id=${carl.id}`; next !== ''; ) {
      const answer = await panel.get<Subscription[]>(next, admin)
      expect(answer.status).toBe(200)
      seen.push(...answer.data.map(({ id }) => id))
      next = nextOf(answer.headers)
      if (next !== '') {
        const { searchParams } = new URL(next, panel.origin)
        expect([searchParams.get('limit'), searchParams.get('user_id')]).toEqual(['2', `${carl.id}`])
      }
    }
    expect(seen).toEqual(ids)
    expect((await panel.get('/admin/subscriptions?user_id=999999', admin)).data).toEqual([])
  })

  test.each<[string, number]>([
    ...badPages,
    ['user_id=abc', 400],
    ['user_id=', 400],
    ['user_id=1&user_id=2', 400],
    ['state=active', 422],
  ])('gets no list with ?%s', async (query, status) => {
    const answer = await panel.get(`/admin/subscriptions?${query}`, admin)
    expect([answer.status, answer.error]).toEqual([status, status === 400 ? 'bad request' : 'validation error'])
  })

  test.each(missing)('gets %s as %i', async (id, status, message) => {
    for (const answer of [
      await panel.get(`/admin/subscriptions/${id}`, admin),
      await panel.patch(`/admin/subscriptions/${id}`, admin, { name: 'x' }),
    ]) {
      expect([answer.status, answer.message]).toEqual([status, message])
    }
  })

  test('sees only the administrator’s own at /subscriptions, and moves any user’s default', async () => {
    expect(await own(admin)).toEqual([])
    const carl = await panel.customer()
    await panel.subscription(carl.id)
    const second = await panel.subscription(carl.id)
    expect((await panel.patch(`/subscriptions/${second}`, admin, { is_default: true })).status).toBe(200)
    expect(defaultsOf(await own(carl.token))).toEqual([second])
  })
})

describe('without the right', () => {
  const requests: [string, string, object | undefined][] = [
    ['GET', '/admin/subscriptions', undefined],
    ['POST', '/admin/subscriptions', { user_id: 1, name: 'Hosting' }],
    ['GET', '/admin/subscriptions/1', undefined],
    ['PATCH', '/admin/subscriptions/1', { max_sites: 0 }],
  ]

  test.each(requests)('%s %s is 403 for a customer, and changes nothing', async (method, path, body) => {
    const before = await all()
    for (const as of [ada.token, await panel.key(ada.token)]) {
      const answer = await panel.send(method, path, { as, ...(body && { body }) })
      expect([answer.status, answer.error, answer.message]).toEqual([
        403,
        'forbidden',
        'Only an administrator may do this',
      ])
    }
    expect(await all()).toEqual(before)
  })

  test.each([
    ...requests,
    ['GET', '/subscriptions', undefined] as const,
    ['PATCH', '/subscriptions/1', { is_default: true }] as const,
  ])('%s %s is 401 without a credential', async (method, path, body) => {
    const answer = await panel.send(method, path, { ...(body && { body }) })
    expect([answer.status, answer.error, answer.message]).toEqual([401, 'not authenticated', 'Authentication required'])
  })
})
