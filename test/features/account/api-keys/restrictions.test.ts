/** Keys with less than the rights of their user: scopes, addresses, one subscription. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { SCOPES, type Scope } from '../../../../src/core/scope.ts'
import { smallArchive } from '../../../harness/archives.ts'
import { exampleSent, fillPath, type Operation, operationsOf } from '../../../harness/operations.ts'
import { usePanel } from '../../../harness/panel.ts'

type Site = { id: number; domain: string; subscription_id: number }
type Subscription = { id: number }
type Me = { credential: Record<string, unknown>; rate_limit: { limit: number; remaining: number; reset_at: string } }

let inSecond: Site
const panel = await usePanel()
const ada = await panel.customer()
const first = await panel.subscription(ada.id)
const second = await panel.subscription(ada.id)
const inFirst = (await panel.post<Site>('/sites', ada.token, { domain: 'first.example' })).data
beforeAll(async () => {
  const body = { domain: 'second.example', subscription_id: second }
  inSecond = (await panel.post<Site>('/sites', ada.token, body)).data
})

const create = (body: object, as = ada.token) =>
  panel.post<Record<string, unknown>>('/auth/api-keys', as, { name: 'Limited', ...body })

describe('a key without options', () => {
  test('matches the contract field by field, and can do everything its user can', async () => {
    const { data } = await create({})
    expect(Object.keys(data).sort()).toEqual(['created_at', 'expires_at', 'id', 'key', 'key_prefix', 'name'])
    const me = (await panel.get<Me>('/auth/me', data.key as string)).data.credential
    expect(me).toEqual({
      kind: 'api_key',
      id: data.id,
      name: 'Limited',
      scopes: null,
      allowed_cidrs: null,
      subscription_id: null,
      sites: null,
      expires_at: null,
      can_rotate: false,
      renewable_until: null,
    })
    expect((await panel.get('/sites', data.key as string)).status).toBe(200)
  })
})

describe('options', () => {
  test('are shown where the key is created, in the list and to the key itself', async () => {
    const options = {
      scopes: ['sites:read', 'audit-log:read'],
      allowed_cidrs: ['203.0.113.0/24'],
      subscription_id: first,
    }
    const { status, data } = await create(options)
    expect([status, data]).toEqual([201, expect.objectContaining(options)])
    const listed = (await panel.get<object[]>('/auth/api-keys', ada.token)).data.at(-1)
    expect(listed).toEqual(expect.objectContaining(options))
    expect((await panel.get(`/auth/api-keys/${data.id}`, ada.token)).data).toEqual(listed as object)
    const me = await panel.send<Me>('GET', '/auth/me', { as: data.key as string, from: '203.0.113.7' })
    expect(me.data.credential).toEqual(expect.objectContaining({ name: 'Limited', ...options }))
    expect(me.data.rate_limit).toEqual({
      limit: Number(me.headers.get('x-ratelimit-limit')),
      remaining: Number(me.headers.get('x-ratelimit-remaining')),
      reset_at: new Date(Number(me.headers.get('x-ratelimit-reset')) * 1000).toISOString(),
    })
  })

  test.each<[object, number, string]>([
    [{ scopes: [] }, 422, 'scopes: must have at least 1 entry'],
    [{ scopes: ['sites:delete'] }, 422, `scopes.0: must be one of ${SCOPES.join(', ')}`],
    [{ scopes: ['sites:read', 'sites:read'] }, 422, 'scopes: must not have the same entry twice'],
    [{ scopes: 'sites:read' }, 400, 'scopes: must be an array'],
    [{ scopes: null }, 400, 'scopes: must be an array'],
    [{ scope: ['sites:read'] }, 422, 'scope: is not a known field'],
    [{ allowed_cidrs: [] }, 422, 'allowed_cidrs: must have at least 1 entry'],
    [{ allowed_cidrs: [203] }, 400, 'allowed_cidrs.0: must be a string'],
    [{ subscription_id: 999_999 }, 404, 'No such subscription'],
    [{ subscription_id: '1' }, 400, 'subscription_id: must be an integer'],
    [{ sites: [] }, 422, 'sites: must have at least 1 entry'],
    [{ sites: [1, 1] }, 422, 'sites: must not have the same entry twice'],
    [{ sites: ['1'] }, 400, 'sites.0: must be an integer'],
    [{ sites: null }, 400, 'sites: must be an array'],
    [{ sites: 1 }, 400, 'sites: must be an array'],
    [{ sites: Array.from({ length: 101 }, (_, at) => at) }, 422, 'sites: must have at most 100 entries'],
    [{ sites: [999_999] }, 404, 'No such site: 999999'],
    [{ sites: [-1] }, 404, 'No such site: -1'],
  ])('%j are refused', async (options, status, message) => {
    const answer = await create(options)
    expect([answer.status, answer.message]).toEqual([status, message])
  })

  const notRanges = ['203.0.113', '203.0.113.0/33', '2001:db8::/129', '0x7f.1', '::ffff:203.0.113.7', '10.0.0.0/']
  test.each([...notRanges, 'fe80::1%eth0', 'fe80::%eth0/64', 'all', ''])(
    'allowed_cidrs containing %j are refused',
    async (range) => {
      const answer = await create({ allowed_cidrs: ['10.0.0.0/8', range] })
      expect([answer.status, answer.message]).toEqual([
        422,
        'allowed_cidrs.1: must be an IPv4 or IPv6 address or CIDR range, such as 203.0.113.0/24',
      ])
    },
  )

  test('allowed_cidrs are returned in normal form', async () => {
    const allowed_cidrs = ['203.0.113.7', '10.1.2.3/8', '10.0.0.0/8', '2001:0DB8:0::1/48', '::1', '0.0.0.0/0']
    const { data } = await create({ allowed_cidrs })
    expect(data.allowed_cidrs).toEqual(['203.0.113.7/32', '10.0.0.0/8', '2001:db8::/48', '::1/128', '0.0.0.0/0'])
  })

  test('another user’s subscription is refused, except for an administrator', async () => {
    const bob = await panel.customer()
    expect((await create({ subscription_id: first }, bob.token)).status).toBe(403)
    expect((await create({ subscription_id: first }, await panel.admin())).status).toBe(201)
  })
})

describe('scopes', () => {
  test('let a key do what they name, and nothing else', async () => {
    const key = await panel.key(ada.token, { scopes: ['sites:read'] })
    expect((await panel.get<Site[]>('/sites', key)).data.map(({ id }) => id)).toEqual([inFirst.id])
    const refused = await panel.post('/sites', key, { domain: 'more.example' })
    expect([refused.status, refused.error, refused.message]).toEqual([
      403,
      'scope_missing',
      'This API key lacks the scope sites:write',
    ])
    expect(refused.headers.get('www-authenticate')).toBe(
      'Bearer realm="ncp", error="insufficient_scope", scope="sites:write"',
    )
    // Refused before the body is looked at.
    expect((await panel.post('/sites', key, { nonsense: 1 })).error).toBe('scope_missing')
    expect((await panel.get('/subscriptions', key)).message).toBe('This API key lacks the scope subscriptions:read')
  })

  test('never give a key more than its user has', async () => {
    const key = await panel.key(ada.token, { scopes: [...SCOPES] })
    const answer = await panel.get('/admin/users', key)
    expect([answer.status, answer.error]).toEqual([403, 'forbidden'])
    expect((await panel.get('/auth/api-keys', key)).error).toBe('forbidden')
  })

  test('decide for every operation of the document: each requires its own, and without it refuses', async () => {
    const administrator = await panel.customer('admin')
    const operations = (await operationsOf(panel)).filter(({ isOpen }) => !isOpen)
    const security = await scopesOfDocument()
    const keys = new Map<Scope, string>()
    for (const scope of SCOPES) keys.set(scope, await panel.key(administrator.token, { scopes: [scope] }))
    const send = (operation: Operation, as: string) => {
      // An id that nothing has, so that what is let through changes nothing.
      return panel.send(operation.method, fillPath(operation.path, 999_999), { as, ...exampleSent(operation) })
    }
    const seen = new Set<string>()
    for (const operation of operations) {
      const needed = security[operation.id]
      for (const [scope, key] of keys) {
        const { status, error } = await send(operation, key)
        if (operation.id === 'getMe') expect([operation.id, status]).toEqual([operation.id, 200])
        // Key management, passwords and the like take no key at all.
        else if (needed === undefined) expect([operation.id, status, error]).toEqual([operation.id, 403, 'forbidden'])
        else if (scope !== needed) expect([operation.id, error]).toEqual([operation.id, 'scope_missing'])
        else {
          expect([operation.id, error]).not.toEqual([operation.id, 'scope_missing'])
          seen.add(scope)
        }
      }
    }
    expect(seen).toEqual(new Set(SCOPES))
  })

  async function scopesOfDocument(): Promise<Record<string, string | undefined>> {
    type Document = { paths: Record<string, Record<string, { operationId: string; security: { bearer: string[] }[] }>> }
    const yaml = await (await fetch(`${panel.origin}/api/docs/openapi.yaml`)).text()
    const { paths } = Bun.YAML.parse(yaml) as Document
    const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
    return Object.fromEntries(operations.map(({ operationId, security }) => [operationId, security[0]?.bearer[0]]))
  }

  test('are revealed only to a valid key: a stranger gets the same 401 as ever', async () => {
    const { data } = await create({ scopes: ['sites:read'], allowed_cidrs: ['203.0.113.7'] })
    await panel.delete(`/auth/api-keys/${data.id}`, ada.token)
    for (const path of ['/subscriptions', '/sites', '/admin/users']) {
      const answer = await panel.get(path, data.key as string)
      expect([answer.status, answer.error, answer.message]).toEqual([
        401,
        'not authenticated',
        'Authentication required',
      ])
    }
  })
})

describe('allowed_cidrs', () => {
  const from = (address: string, as: string, path = '/sites') => panel.send('GET', path, { as, from: address })

  test.each<[string[], string[], string[]]>([
    [['203.0.113.7'], ['203.0.113.7', '::ffff:203.0.113.7'], ['203.0.113.8', '2001:db8::1']],
    [
      ['10.0.0.0/8', '192.0.2.0/25'],
      ['10.255.255.255', '192.0.2.127'],
      ['11.0.0.0', '192.0.2.128'],
    ],
    [['2001:db8::/48'], ['2001:db8:0:ffff::1', '2001:db8::'], ['2001:db8:1::1', '32.1.13.184']],
  ])('%j admit a key only from there', async (allowed_cidrs, inside, outside) => {
    const key = await panel.key(ada.token, { allowed_cidrs })
    for (const address of inside) expect([address, (await from(address, key)).status]).toEqual([address, 200])
    for (const address of outside) {
      const { status, error, message } = await from(address, key)
      expect([status, error, message]).toEqual([403, 'ip_not_allowed', `This API key may not be used from ${address}`])
    }
  })

  test('apply to every operation that authenticates, including /auth/me', async () => {
    const key = await panel.key(ada.token, { allowed_cidrs: ['203.0.113.7'] })
    for (const path of ['/auth/me', '/auth/api-keys', '/subscriptions', '/admin/users', `/sites/${inFirst.id}`]) {
      expect([path, (await from('203.0.113.8', key, path)).error]).toEqual([path, 'ip_not_allowed'])
    }
  })

  test('make an attempt from elsewhere neither a use of the key nor a request of its user', async () => {
    const bob = await panel.customer()
    const key = await panel.key(bob.token, { allowed_cidrs: ['203.0.113.7'] })
    const remaining = async (as: string, address: string) =>
      Number((await from(address, as, '/auth/me')).headers.get('x-ratelimit-remaining'))
    const before = await remaining(bob.token, '203.0.113.9')
    const stranger = await remaining(key, '203.0.113.9')
    expect(await remaining(key, '203.0.113.9')).toBe(stranger - 1)
    expect(await remaining(bob.token, '203.0.113.9')).toBe(before - 1)
    const listed = () => panel.get<{ last_used_at: string | null }[]>('/auth/api-keys', bob.token)
    expect((await listed()).data[0]?.last_used_at).toBeNull()
    await from('203.0.113.7', key, '/auth/me')
    expect((await listed()).data[0]?.last_used_at).not.toBeNull()
  })

  test('leave a refusal in the audit log, as scopes do', async () => {
    const bob = await panel.customer()
    const key = await panel.key(bob.token, { allowed_cidrs: ['203.0.113.7'], scopes: ['sites:read'] })
    await from('203.0.113.66', key)
    await from('203.0.113.7', key, '/subscriptions')
    await panel.services.incidents.flush()
    type Entry = { result: string; reason: string; address: string }
    const { data } = await panel.get<Entry[]>('/audit-log', bob.token)
    const refused = data.filter(({ result }) => result === 'refused').map(({ reason, address }) => [reason, address])
    expect(refused.sort()).toEqual([
      ['ip_not_allowed', '203.0.113.66'],
      ['scope_missing', '203.0.113.7'],
    ])
  })
})

describe('a key that is bound to a subscription', () => {
  test('sees that one, with or without the query parameter, and nothing of another', async () => {
    const key = await panel.key(ada.token, { subscription_id: second })
    for (const path of ['/sites', `/sites?subscription_id=${second}`]) {
      expect((await panel.get<Site[]>(path, key)).data.map(({ id }) => id)).toEqual([inSecond.id])
    }
    expect((await panel.get(`/sites/${inSecond.id}`, key)).status).toBe(200)
    expect((await panel.get<Subscription[]>('/subscriptions', key)).data.map(({ id }) => id)).toEqual([second])
    expect((await panel.get(`/subscriptions/${second}`, key)).status).toBe(200)
    const refusals = [
      await panel.get(`/sites?subscription_id=${first}`, key),
      await panel.get(`/sites/${inFirst.id}`, key),
      await panel.get(`/sites/${inFirst.id}?subscription_id=${second}`, key),
      await panel.patch(`/sites/${inFirst.id}`, key, { status: 'disabled' }),
      await panel.delete(`/sites/${inFirst.id}`, key),
      await panel.get(`/subscriptions/${first}`, key),
      await panel.post('/sites', key, { domain: 'wrong.example', subscription_id: first }),
      await panel.post(`/sites?subscription_id=${first}`, key, { domain: 'wrong.example' }),
    ]
    for (const { status, error } of refusals) expect([status, error]).toEqual([403, 'forbidden'])
    expect((await panel.get<Site>(`/sites/${inFirst.id}`, ada.token)).data.domain).toBe('first.example')
  })

  test('creates, changes and deletes in that one, even when another is the default', async () => {
    const key = await panel.key(ada.token, { subscription_id: second })
    const { data: site } = await panel.post<Site>('/sites', key, { domain: 'bound.example' })
    expect(site.subscription_id).toBe(second)
    expect((await panel.patch(`/sites/${site.id}`, key, { spa: true })).status).toBe(200)
    expect((await panel.delete(`/sites/${site.id}`, key)).status).toBe(200)
  })

  test('cannot act beyond it: move the default, read the audit log, administer', async () => {
    const key = await panel.key(ada.token, { subscription_id: second })
    const message = `This API key is bound to subscription ${second}, and this goes beyond it`
    expect((await panel.patch(`/subscriptions/${second}`, key, { is_default: true })).message).toBe(message)
    expect((await panel.get('/audit-log', key)).message).toBe(message)
    const administrator = await panel.customer('admin')
    const admins = await panel.key(administrator.token, { subscription_id: second })
    for (const { method, path, id } of (await operationsOf(panel)).filter(({ path }) => path.includes('/admin/'))) {
      const answer = await panel.send(method, fillPath(path, second), { as: admins })
      expect([id, answer.status, answer.error]).toEqual([id, 403, 'forbidden'])
    }
    expect((await panel.get<Site[]>('/sites', admins)).data.map(({ id }) => id)).toEqual([inSecond.id])
    expect((await panel.get(`/sites/${inFirst.id}`, admins)).status).toBe(403)
    expect((await panel.post<Site>('/sites', admins, { domain: 'admin.example' })).data.subscription_id).toBe(second)
  })

  test('sees nothing once the subscription belongs to another user', async () => {
    const bob = await panel.customer()
    await panel.subscription(bob.id)
    const given = await panel.subscription(bob.id)
    const key = await panel.key(bob.token, { subscription_id: given })
    expect((await panel.get('/sites', key)).status).toBe(200)
    await panel.patch(`/admin/subscriptions/${given}`, await panel.admin(), { user_id: ada.id })
    expect((await panel.get('/sites', key)).status).toBe(403)
    expect((await panel.get<Subscription[]>('/subscriptions', key)).data).toEqual([])
    await panel.patch(`/admin/subscriptions/${given}`, await panel.admin(), { user_id: bob.id })
    expect((await panel.get('/sites', key)).status).toBe(200)
  })

  test('gets no page that was cached for another credential of the same user', async () => {
    const bob = await panel.customer()
    const [own, other] = [await panel.subscription(bob.id), await panel.subscription(bob.id)]
    await panel.post('/sites', bob.token, { domain: 'own.example', subscription_id: own })
    await panel.post('/sites', bob.token, { domain: 'other.example', subscription_id: other })
    const unbound = await panel.key(bob.token)
    const bound = await panel.key(bob.token, { subscription_id: other })
    // Nothing is written from here on, so that the pages of the unbound key stay in the cache.
    for (const path of ['/sites', `/sites?subscription_id=${own}`]) {
      expect((await panel.get<Site[]>(path, unbound)).data.map(({ domain }) => domain)).toEqual(['own.example'])
    }
    expect((await panel.get<Site[]>('/sites', bound)).data.map(({ domain }) => domain)).toEqual(['other.example'])
    expect((await panel.get(`/sites?subscription_id=${own}`, bound)).status).toBe(403)
  })

  test('gets no response that was kept for another credential', async () => {
    const bound = await panel.key(ada.token, { subscription_id: second })
    const headers = { 'idempotency-key': 'shared' }
    const body = { domain: 'kept.example' }
    const created = await panel.send<Site>('POST', '/sites', { as: ada.token, body, headers })
    expect(created.data.subscription_id).not.toBe(second)
    expect((await panel.send('POST', '/sites', { as: bound, body, headers })).status).toBe(409)
  })
})

describe('a key that is bound to sites', () => {
  test('is bound to their subscription too, and says so', async () => {
    const { status, data } = await create({ sites: [inSecond.id] })
    const bound = { sites: [inSecond.id], subscription_id: second }
    expect([status, data]).toEqual([201, expect.objectContaining(bound)])
    expect((await panel.get<object[]>('/auth/api-keys', ada.token)).data.at(-1)).toEqual(expect.objectContaining(bound))
    expect((await panel.get<Me>('/auth/me', data.key as string)).data.credential).toEqual(
      expect.objectContaining(bound),
    )
    const entries = await panel.get<{ action: string; details: object }[]>('/audit-log?limit=1000', ada.token)
    const made = entries.data.filter(({ action, details }) => action === 'api_key.create' && 'sites' in details)
    expect(made.at(-1)?.details).toEqual(
      expect.objectContaining({ sites: [`${inSecond.id}`], subscription_id: second }),
    )
  })

  test('takes sites of one subscription, the one that is named, and no other customer’s', async () => {
    const several = await create({ sites: [inFirst.id, inSecond.id] })
    expect([several.status, several.message]).toEqual([422, 'sites: must all be in one subscription'])
    const elsewhere = await create({ sites: [inFirst.id], subscription_id: second })
    expect([elsewhere.status, elsewhere.message]).toEqual([422, `sites: must all be in subscription ${second}`])
    expect((await create({ sites: [inFirst.id], subscription_id: first })).status).toBe(201)
    const bob = await panel.customer()
    const refused = await create({ sites: [inFirst.id] }, bob.token)
    expect([refused.status, refused.message]).toEqual([403, 'This site belongs to another customer'])
    expect((await create({ sites: [inFirst.id] }, await panel.admin())).status).toBe(201)
  })

  test('sees those alone, of the same subscription: in lists, searches, pages, events and by id', async () => {
    const bob = await panel.customer()
    const own = await panel.subscription(bob.id)
    const sites: Site[] = []
    for (const name of ['a', 'b', 'c', 'd']) {
      const body = { domain: `${name}.of-sites.example`, aliases: [`www.${name}.of-sites.example`] }
      sites.push((await panel.post<Site>('/sites', bob.token, body)).data)
    }
    const [a, b, c, d] = sites.map(({ id }) => id) as [number, number, number, number]
    const key = await panel.key(bob.token, { sites: [d, b] })
    const idsAt = async (path: string, as = key) => (await panel.get<Site[]>(path, as)).data.map(({ id }) => id)
    expect(await idsAt('/sites', bob.token)).toEqual([a, b, c, d])
    for (const path of ['/sites', `/sites?subscription_id=${own}`, '/sites?domain=of-sites']) {
      expect([path, await idsAt(path)]).toEqual([path, [b, d]])
    }
    const page = await panel.get<Site[]>('/sites?limit=1', key)
    expect(page.data.map(({ id }) => id)).toEqual([b])
    const next = /<[^>]*\/api\/v1([^>]*)>/.exec(page.headers.get('link') ?? '')?.[1] ?? ''
    expect(await idsAt(next)).toEqual([d])
    const events = async (path: string) =>
      new Set((await panel.get<{ site_id: number }[]>(path, key)).data.map(({ site_id }) => site_id))
    expect(await events('/events')).toEqual(new Set([b, d]))
    expect(await events(`/sites/${b}/events`)).toEqual(new Set([b]))
    for (const below of ['', '/events', '/deployments', '/usage', '/logs?kind=access']) {
      expect([below, (await panel.get(`/sites/${b}${below}`, key)).status]).toEqual([below, 200])
      const refused = await panel.get(`/sites/${a}${below}`, key)
      expect([below, refused.status, refused.message]).toEqual([
        below,
        403,
        'This site is not one of those that this API key is bound to',
      ])
    }
    expect((await panel.patch(`/sites/${b}`, key, { spa: true })).status).toBe(200)
    expect((await panel.patch(`/sites/${c}`, key, { spa: true })).status).toBe(403)
    expect((await panel.delete(`/sites/${c}`, key)).status).toBe(403)
    expect((await panel.post('/sites', key, { domain: 'e.of-sites.example' })).status).toBe(403)
    expect((await panel.get('/subscriptions', key)).message).toBe(
      'This API key is bound to sites, and this goes beyond them',
    )
    // A site that is gone takes its id with it: nothing else ever gets it.
    await panel.delete(`/sites/${b}`, key)
    await panel.delete(`/sites/${d}`, bob.token)
    const later = (await panel.post<Site>('/sites', bob.token, { domain: 'later.of-sites.example' })).data.id
    expect(await idsAt('/sites')).not.toContain(later)
    expect((await panel.get(`/sites/${later}`, key)).status).toBe(403)
  })

  test('gets no page and no response that was kept for another credential', async () => {
    const bob = await panel.customer()
    await panel.subscription(bob.id)
    const site = (await panel.post<Site>('/sites', bob.token, { domain: 'mine.kept-of-sites.example' })).data
    await panel.post('/sites', bob.token, { domain: 'other.kept-of-sites.example' })
    const [wide, narrow] = [await panel.key(bob.token), await panel.key(bob.token, { sites: [site.id] })]
    const count = async (as: string) => (await panel.get<Site[]>('/sites', as)).data.length
    expect([await count(wide), await count(narrow), await count(wide)]).toEqual([2, 1, 2])
    const sent = { headers: { 'idempotency-key': 'of-sites' }, rawBody: smallArchive() }
    const path = `/sites/${site.id}/deployments`
    expect((await panel.send('POST', path, { as: wide, ...sent })).status).toBe(409)
    expect((await panel.send('POST', path, { as: narrow, ...sent })).status).toBe(409)
  })
})

describe('the number of keys', () => {
  test('per user is limited, even for many requests at once, and deleting one makes room', async () => {
    const admin = await panel.admin()
    const bob = await panel.customer()
    const made = (await create({}, bob.token)).data
    await panel.patch('/admin/settings', admin, { max_api_keys_per_user: 3 })
    await create({}, bob.token)
    const answers = await Promise.all(Array.from({ length: 8 }, () => create({}, bob.token)))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)])
    const refused = answers.find(({ status }) => status === 409)
    expect([refused?.error, refused?.message]).toEqual([
      'conflict',
      'The limit of 3 API keys is reached; delete one that is no longer used',
    ])
    await panel.delete(`/auth/api-keys/${made.id}`, bob.token)
    expect((await create({}, bob.token)).status).toBe(201)
    await panel.patch('/admin/settings', admin, { max_api_keys_per_user: 50 })
  })
})
