/** Sites: whose they are, which subscription they are in, and how many fit. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { callerFor } from '../../../harness/actors.ts'
import { type Customer, usePanel } from '../../../harness/panel.ts'

type Site = {
  id: number
  subscription_id: number
  domain: string
  aliases: string[]
  kind: string
  php_version: string | null
  php_settings: object
  no_php_in: string[]
  spa: boolean
  public_dir: string | null
  health_path: string | null
  enabled: boolean
  status: string
  status_reason: string | null
  generation: number
  observed_generation: number
  document_root: string | null
  failure: object | null
  urls: string[]
  current_deployment_id: number | null
  serving: object
  created_at: string
  updated_at: string
  usage: { disk_bytes: number | null; files: number | null }
  tls: { state: string; reason: string | null; names: object[]; not_after: string | null; issuer: string | null }
}

const panel = await usePanel()
const ada = await panel.customer()
const adas = await panel.subscription(ada.id)
const bob = await panel.customer()
const bobs = await panel.subscription(bob.id)

let names = 0
const newDomain = () => `site-${++names}.example`
const create = (as: string, body: object = {}, query = '') =>
  panel.post<Site>(`/sites${query}`, as, { domain: newDomain(), ...body })
const list = (as: string, query = '') => panel.get<Site[]>(`/sites${query}`, as)
const idsOf = ({ data }: { data: Site[] }) => data.map(({ id }) => id)

/** Follows the Link headers to the end. */
async function walk(as: string, path: string): Promise<{ pages: number[][]; links: string[] }> {
  const pages: number[][] = []
  const links: string[] = []
  for (let next: string | undefined = path; next !== undefined; ) {
    const answer: Awaited<ReturnType<typeof list>> = await panel.get<Site[]>(next, as)
    expect(answer.status).toBe(200)
    pages.push(idsOf(answer))
    next = /^<([^>]+)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1]
    if (next !== undefined) links.push(next)
  }
  return { pages, links }
}

describe('the subscription', () => {
  test('is the only one when none is named', async () => {
    const carl = await panel.customer()
    const only = await panel.subscription(carl.id)
    const { data } = await create(carl.token)
    expect(data.subscription_id).toBe(only)
    expect((await list(carl.token)).data).toEqual([data])
    expect((await list(carl.token, `?subscription_id=${only}`)).data).toEqual([data])
  })

  test('is the default of several when none is named', async () => {
    const carl = await panel.customer()
    const [first, second] = [await panel.subscription(carl.id), await panel.subscription(carl.id)]
    const inFirst = (await create(carl.token)).data
    const inSecond = (await create(carl.token, { subscription_id: second })).data
    expect([inFirst.subscription_id, inSecond.subscription_id]).toEqual([first, second])
    expect(idsOf(await list(carl.token))).toEqual([inFirst.id])
    expect(idsOf(await list(carl.token, `?subscription_id=${second}`))).toEqual([inSecond.id])
    await panel.patch(`/subscriptions/${second}`, carl.token, { is_default: true })
    expect(idsOf(await list(carl.token))).toEqual([inSecond.id])
    expect((await create(carl.token)).data.subscription_id).toBe(second)
    expect(idsOf(await list(carl.token, `?subscription_id=${first}`))).toEqual([inFirst.id])
  })

  test('of a customer without one is 404, and the message says so', async () => {
    const carl = await panel.customer()
    const message = 'You have no subscription; ask your provider for one'
    for (const answer of [await list(carl.token), await create(carl.token)]) {
      expect([answer.status, answer.error, answer.message]).toEqual([404, 'not found', message])
    }
  })

  test.each<[string, number, string, string | undefined]>([
    ['subscription_id=999999', 404, 'not found', 'No such subscription'],
    ['subscription_id=0', 404, 'not found', 'No such subscription'],
    ['subscription_id=-1', 404, 'not found', 'No such subscription'],
    ['subscription_id=9007199254740993', 404, 'not found', 'No such subscription'],
    ['subscription_id=abc', 400, 'bad request', 'subscription_id: must be an integer'],
    ['subscription_id=1.5', 400, 'bad request', 'subscription_id: must be an integer'],
    ['subscription_id=1e0', 400, 'bad request', 'subscription_id: must be an integer'],
    ['subscription_id=0x1', 400, 'bad request', 'subscription_id: must be an integer'],
    ['subscription_id=%2B1', 400, 'bad request', 'subscription_id: must be an integer'],
    ['subscription_id=1%20', 400, 'bad request', 'subscription_id: must be an integer'],
    ['subscription_id=1%00', 400, 'bad request', 'subscription_id: must be an integer'],
    ['subscription_id=%2531', 400, 'bad request', 'subscription_id: must be an integer'],
    ['subscription_id=', 400, 'bad request', 'subscription_id: must be an integer'],
    ['subscription_id', 400, 'bad request', 'subscription_id: must be an integer'],
    ['subscription_id=1,2', 400, 'bad request', 'subscription_id: must be an integer'],
    ['subscription_id=1&subscription_id=1', 400, 'bad request', undefined],
    ['subscription_id=1&subscription_id=2', 400, 'bad request', undefined],
    ['subscription_id=1&subscription%5Fid=2', 400, 'bad request', undefined],
    ['subscription=1', 422, 'validation error', 'subscription: is not a known field'],
    ['SUBSCRIPTION_ID=1', 422, 'validation error', 'SUBSCRIPTION_ID: is not a known field'],
    ['__proto__=1', 422, 'validation error', '__proto__: is not a known field'],
    ['subscription_id[]=1', 422, 'validation error', undefined],
  ])('?%s is %i', async (query, status, error, message) => {
    const before = idsOf(await list(ada.token))
    for (const answer of [await list(ada.token, `?${query}`), await create(ada.token, {}, `?${query}`)]) {
      expect([answer.status, answer.error]).toEqual([status, error])
      if (message !== undefined) expect(answer.message).toBe(message)
    }
    expect(idsOf(await list(ada.token))).toEqual(before)
  })

  test('of another customer is 403, with a JWT and with a key', async () => {
    const before = idsOf(await list(bob.token))
    for (const credential of [ada.token, await panel.key(ada.token)]) {
      for (const answer of [
        await list(credential, `?subscription_id=${bobs}`),
        await create(credential, {}, `?subscription_id=${bobs}`),
        await create(credential, { subscription_id: bobs }),
      ]) {
        expect([answer.status, answer.error, answer.message]).toEqual([
          403,
          'forbidden',
          'This subscription belongs to another customer',
        ])
      }
    }
    expect(idsOf(await list(bob.token))).toEqual(before)
  })

  test('may be named in the query, the body, or the same in both, when a site is created', async () => {
    const carl = await panel.customer()
    await panel.subscription(carl.id)
    const second = await panel.subscription(carl.id)
    const query = `?subscription_id=${second}`
    for (const answer of [
      await create(carl.token, {}, query),
      await create(carl.token, { subscription_id: second }),
      await create(carl.token, { subscription_id: second }, query),
    ]) {
      expect([answer.status, answer.data.subscription_id]).toEqual([201, second])
    }
  })

  test('must not differ between the query and the body', async () => {
    const carl = await panel.customer()
    const [first, second] = [await panel.subscription(carl.id), await panel.subscription(carl.id)]
    for (const [query, body] of [
      [first, second],
      [second, first],
      [first, bobs],
      [first, 999_999],
    ]) {
      const answer = await create(carl.token, { subscription_id: body }, `?subscription_id=${query}`)
      expect([answer.status, answer.error, answer.message]).toEqual([
        400,
        'bad request',
        'subscription_id: must be the same in the query and the body',
      ])
    }
    expect((await list(carl.token, `?subscription_id=${first}`)).data).toEqual([])
    expect((await list(carl.token, `?subscription_id=${second}`)).data).toEqual([])
  })

  test('may be any for an administrator, who gets all users’ sites without naming one', async () => {
    const admin = await panel.admin()
    const [hers, his] = [(await create(ada.token)).data, (await create(bob.token)).data]
    const all = idsOf(await list(admin, '?limit=1000'))
    expect(all).toContain(hers.id)
    expect(all).toContain(his.id)
    const filtered = await list(admin, `?subscription_id=${bobs}&limit=1000`)
    expect(idsOf(filtered)).toContain(his.id)
    expect(new Set(filtered.data.map((site) => site.subscription_id))).toEqual(new Set([bobs]))
    expect((await list(admin, '?subscription_id=999999')).status).toBe(404)
    expect((await create(admin, {}, `?subscription_id=${bobs}`)).data.subscription_id).toBe(bobs)
  })

  test('must be named when an administrator creates a site', async () => {
    const answer = await create(await panel.admin())
    expect([answer.status, answer.message]).toEqual([400, 'subscription_id: is required for administrators'])
  })

  test('that is suspended lets its sites be read but not changed, even by an administrator', async () => {
    const carl = await panel.customer()
    const id = await panel.subscription(carl.id)
    const { data: site } = await create(carl.token)
    const admin = await panel.admin()
    await panel.patch(`/admin/subscriptions/${id}`, admin, { status: 'suspended' })
    // Its node is to do something else now.
    site.generation++
    for (const as of [carl.token, admin]) {
      expect((await list(as, `?subscription_id=${id}`)).data).toEqual([site])
      expect((await panel.get<Site>(`/sites/${site.id}`, as)).data).toEqual(site)
      for (const answer of [
        await create(as, { subscription_id: id }),
        await panel.patch(`/sites/${site.id}`, as, { status: 'disabled' }),
        await panel.patch(`/sites/${site.id}`, as, {}),
      ]) {
        expect([answer.status, answer.error, answer.message]).toEqual([
          409,
          'conflict',
          'The subscription is suspended',
        ])
      }
    }
    expect((await panel.delete(`/sites/${site.id}`, carl.token)).status).toBe(409)
    expect((await list(carl.token)).data).toEqual([site])
    await panel.patch(`/admin/subscriptions/${id}`, admin, { status: 'active' })
    expect((await panel.patch(`/sites/${site.id}`, carl.token, { status: 'disabled' })).status).toBe(200)
  })
})

describe('the limit of a subscription', () => {
  const reached = (limit: number) => `The subscription's limit of ${limit} sites is reached`

  test('is how many sites it holds, and a deletion makes room', async () => {
    const carl = await panel.customer()
    await panel.subscription(carl.id, { max_sites: 2 })
    const { data: first } = await create(carl.token)
    expect((await create(carl.token)).status).toBe(201)
    const domain = newDomain()
    const refused = await create(carl.token, { domain })
    expect([refused.status, refused.error, refused.message]).toEqual([409, 'conflict', reached(2)])
    expect((await list(carl.token)).data).toHaveLength(2)
    await panel.delete(`/sites/${first.id}`, carl.token)
    expect((await create(carl.token, { domain })).status).toBe(201)
    expect((await create(carl.token)).status).toBe(409)
  })

  test('counts only its own sites', async () => {
    const carl = await panel.customer()
    const [small, other] = [
      await panel.subscription(carl.id, { max_sites: 1 }),
      await panel.subscription(carl.id, { max_sites: 1 }),
    ]
    for (const subscription_id of [small, other]) {
      expect((await create(carl.token, { subscription_id })).status).toBe(201)
      expect((await create(carl.token, { subscription_id })).status).toBe(409)
    }
  })

  test('is not exceeded by requests in parallel', async () => {
    const carl = await panel.customer()
    await panel.subscription(carl.id, { max_sites: 3 })
    await create(carl.token)
    await create(carl.token)
    const answers = await Promise.all(Array.from({ length: 20 }, () => create(carl.token)))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(409)])
    expect((await list(carl.token)).data).toHaveLength(3)
  })

  test('of 0 means no limit', async () => {
    const carl = await panel.customer()
    await panel.subscription(carl.id, { max_sites: 0 })
    const answers = await Promise.all(Array.from({ length: 20 }, () => create(carl.token)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
  })

  test('below the current number keeps the sites, lets them be changed, and allows no other', async () => {
    const carl = await panel.customer()
    const id = await panel.subscription(carl.id)
    const { data: site } = await create(carl.token)
    await create(carl.token)
    await panel.patch(`/admin/subscriptions/${id}`, await panel.admin(), { max_sites: 1 })
    expect((await list(carl.token)).data).toHaveLength(2)
    expect((await panel.patch(`/sites/${site.id}`, carl.token, { spa: true })).status).toBe(200)
    const refused = await create(carl.token)
    expect([refused.status, refused.message]).toEqual([409, reached(1)])
  })
})

describe('a site', () => {
  test('is created with exactly the fields of the design', async () => {
    const domain = newDomain()
    const answer = await create(ada.token, { domain, aliases: [`www.${domain}`] })
    const now = new Date(panel.clock.now()).toISOString()
    expect([answer.status, answer.message]).toEqual([201, 'Site created'])
    expect(answer.data).toEqual({
      id: expect.any(Number),
      subscription_id: adas,
      domain,
      aliases: [`www.${domain}`],
      kind: 'static',
      php_version: null,
      php_settings: {},
      no_php_in: [],
      spa: false,
      public_dir: null,
      health_path: null,
      enabled: true,
      status: 'provisioning',
      status_reason: 'This server does not serve sites; its operator can switch that on with NCP_SITES_PORT',
      failure: null,
      generation: 1,
      observed_generation: 0,
      urls: [],
      document_root: null,
      current_deployment_id: null,
      serving: { driver: null, node_id: null },
      usage: { disk_bytes: null, files: null },
      tls: {
        state: 'none',
        reason: 'This server does not serve sites over HTTPS; its operator can switch that on with NCP_SITES_TLS_PORT',
        names: [],
        not_after: null,
        issuer: null,
      },
      created_at: now,
      updated_at: now,
    })
    const shown = await panel.get<Site>(`/sites/${answer.data.id}`, ada.token)
    expect([shown.status, shown.message, shown.data]).toEqual([200, '', answer.data])
  })

  test('keeps the fields that a change leaves out', async () => {
    const { data: made } = await create(ada.token, { aliases: [newDomain(), newDomain()] })
    let expected = made
    const domain = newDomain()
    for (const change of [
      { spa: true },
      { enabled: false },
      { domain },
      { aliases: [newDomain()] },
      { aliases: [] },
      { enabled: true, public_dir: 'web/dist' },
      { kind: 'static', php_version: null, public_dir: null },
    ]) {
      panel.clock.advance(1)
      const answer = await panel.patch<Site>(`/sites/${made.id}`, ada.token, change)
      const generation = expected.generation + 1
      expected = { ...expected, ...change, generation, updated_at: new Date(panel.clock.now()).toISOString() }
      expect([answer.status, answer.message]).toEqual([200, 'Site changed'])
      expect(answer.data).toEqual(expected)
      expect((await panel.get<Site>(`/sites/${made.id}`, ada.token)).data).toEqual(expected)
    }
  })

  test('is gone once deleted, and its id is never reused', async () => {
    const { data: site } = await create(ada.token)
    const answer = await panel.delete(`/sites/${site.id}`, ada.token)
    expect([answer.status, answer.data, answer.message]).toEqual([
      200,
      { ...site, status: 'deleting', status_reason: null, generation: 2 },
      'Site deletion started',
    ])
    expect(idsOf(await list(ada.token, '?limit=1000'))).not.toContain(site.id)
    for (const again of [
      await panel.get(`/sites/${site.id}`, ada.token),
      await panel.patch(`/sites/${site.id}`, ada.token, { status: 'active' }),
      await panel.delete(`/sites/${site.id}`, ada.token),
    ]) {
      expect([again.status, again.error, again.message]).toEqual([404, 'not found', 'No such site'])
    }
    expect((await create(ada.token)).data.id).toBeGreaterThan(site.id)
  })

  test('is deleted once by requests in parallel', async () => {
    const { data: site } = await create(ada.token)
    const answers = await Promise.all(Array.from({ length: 10 }, () => panel.delete(`/sites/${site.id}`, ada.token)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(404)])
  })

  test('is seen whole or not at all while it is being deleted', async () => {
    const carl = await panel.customer()
    await panel.subscription(carl.id)
    const [session] = (await panel.get<{ id: number }[]>('/auth/sessions', carl.token)).data
    const principal = callerFor(carl.id, session?.id)
    const { sites } = panel.services
    const made = await Promise.all(Array.from({ length: 5 }, () => create(carl.token)))
    const refs = made.map(({ data }) => ({ id: data.id, subscriptionId: undefined }))
    // Through the service, for reads at every step of the deletions.
    const reads: Promise<{ domain: string }[]>[] = []
    const deletions = Promise.all(refs.map((ref) => sites.remove(principal, ref)))
    for (let step = 0; step < 200; step++) {
      reads.push(sites.list(principal, {}, { limit: 10, afterId: 0 }).then(({ rows }) => rows))
      for (const ref of refs) {
        reads.push(
          sites.find(principal, ref).then(
            (site) => [site],
            (error) => {
              expect(error.message).toBe('No such site')
              return []
            },
          ),
        )
      }
      await Promise.resolve()
    }
    await deletions
    const seen = (await Promise.all(reads)).flat()
    expect(seen.length).toBeGreaterThan(0)
    for (const { domain } of seen) expect(domain).toMatch(/^site-\d+\.example$/)
  })

  const PHP_RULE = 'php_version: must be a PHP version, such as 8.4'
  test.each<[unknown, number, string]>([
    [{ domain: null }, 400, 'domain: must be a string'],
    [{ domain: 1 }, 400, 'domain: must be a string'],
    [{ php_version: 8.4 }, 400, 'php_version: must be a string or null'],
    [{ php_version: '8' }, 422, PHP_RULE],
    [{ php_version: '8.4 ' }, 422, PHP_RULE],
    [{ status: true }, 400, 'status: must be a string'],
    [{ status: 'Active' }, 422, 'status: must be one of active, disabled'],
    [{ status: 'suspended' }, 422, 'status: must be one of active, disabled'],
    [{ aliases: null }, 400, 'aliases: must be an array'],
    [{ id: 1 }, 422, 'id: is not a known field'],
    [{ subscription_id: 1 }, 422, 'subscription_id: is not a known field'],
    [{ document_root: '/' }, 422, 'document_root: is not a known field'],
    [{ created_at: '2026-01-01T00:00:00Z' }, 422, 'created_at: is not a known field'],
    [[], 400, 'body: must be an object'],
    ['text', 400, 'body: must be an object'],
  ])('is not changed by %j', async (body, status, message) => {
    const { data: site } = await create(ada.token)
    // Something valid beside it must not be stored either.
    const mixed = typeof body === 'object' && !Array.isArray(body) ? { aliases: [newDomain()], ...body } : body
    const answer = await panel.patch(`/sites/${site.id}`, ada.token, mixed)
    expect([answer.status, answer.message]).toEqual([status, message])
    expect(answer.error).toBe(status === 400 ? 'bad request' : 'validation error')
    expect((await panel.get<Site>(`/sites/${site.id}`, ada.token)).data).toEqual(site)
  })

  test.each<[unknown, number, string]>([
    [{}, 400, 'domain: is required'],
    [{ aliases: ['a.example'] }, 400, 'domain: is required'],
    [{ domain: null }, 400, 'domain: must be a string'],
    [{ domain: ['a.example'] }, 400, 'domain: must be a string'],
    [{ domain: 'a.example', subscription_id: '1' }, 400, 'subscription_id: must be an integer'],
    [{ domain: 'a.example', subscription_id: null }, 400, 'subscription_id: must be an integer'],
    [{ domain: 'a.example', subscription_id: 1.5 }, 400, 'subscription_id: must be an integer'],
    [{ domain: 'a.example', subscription_id: 0 }, 404, 'No such subscription'],
    [{ domain: 'a.example', subscription_id: -1 }, 404, 'No such subscription'],
    [{ domain: 'a.example', subscription_id: 2 ** 53 + 2 }, 404, 'No such subscription'],
    [{ domain: 'a.example', subscription_id: 1e300 }, 404, 'No such subscription'],
    [{ domain: 'a.example', id: 1 }, 422, 'id: is not a known field'],
    [{ domain: 'a.example', status: 'active' }, 422, 'status: is not a known field'],
    [{ domain: 'a.example', document_root: '/etc' }, 422, 'document_root: is not a known field'],
    [[], 400, 'body: must be an object'],
    ['text', 400, 'body: must be an object'],
  ])('is not created from %j', async (body, status, message) => {
    const before = (await list(ada.token, '?limit=1000')).data
    const answer = await panel.post('/sites', ada.token, body)
    expect([answer.status, answer.message]).toEqual([status, message])
    expect((await list(ada.token, '?limit=1000')).data).toEqual(before)
  })

  test('is not created without a body', async () => {
    const answer = await panel.post('/sites', ada.token)
    expect([answer.status, answer.message]).toEqual([400, 'body: is required'])
  })

  test.each([
    ['0', 404, 'No such site'],
    ['-1', 404, 'No such site'],
    ['999999', 404, 'No such site'],
    ['9007199254740993', 404, 'No such site'],
    ['abc', 400, 'id: must be an integer'],
    ['1.5', 400, 'id: must be an integer'],
    ['%2531', 400, 'id: must be an integer'],
    ['1%00', 400, 'id: must be an integer'],
    ['1;2', 400, 'id: must be an integer'],
  ])('with the id %s is %i', async (id, status, message) => {
    for (const answer of [
      await panel.get(`/sites/${id}`, ada.token),
      await panel.patch(`/sites/${id}`, ada.token, { status: 'active' }),
      await panel.delete(`/sites/${id}`, ada.token),
    ]) {
      expect([answer.status, answer.message]).toEqual([status, message])
    }
  })

  test('of another customer is 403 and stays as it was, whatever is requested', async () => {
    const { data: site } = await create(bob.token)
    for (const credential of [ada.token, await panel.key(ada.token)]) {
      for (const answer of [
        await panel.get(`/sites/${site.id}`, credential),
        await panel.get(`/sites/${site.id}?subscription_id=${adas}`, credential),
        await panel.patch(`/sites/${site.id}`, credential, { status: 'disabled' }),
        await panel.patch(`/sites/${site.id}`, credential, { domain: newDomain() }),
        await panel.delete(`/sites/${site.id}`, credential),
      ]) {
        expect([answer.status, answer.error, answer.message]).toEqual([
          403,
          'forbidden',
          'This site belongs to another customer',
        ])
      }
    }
    expect((await panel.get<Site>(`/sites/${site.id}`, bob.token)).data).toEqual(site)
  })

  test('in a suspended subscription can be deleted by an administrator', async () => {
    const carl = await panel.customer()
    const id = await panel.subscription(carl.id)
    const { data: site } = await create(carl.token)
    const admin = await panel.admin()
    await panel.patch(`/admin/subscriptions/${id}`, admin, { status: 'suspended' })
    expect((await panel.delete(`/sites/${site.id}`, admin)).status).toBe(200)
    expect((await panel.get(`/sites/${site.id}`, carl.token)).status).toBe(404)
  })

  test.each([
    [{ kind: 'php' }, 'kind: needs PHP as it is installed on the server, which has none'],
    [{ php_version: '8.4' }, 'php_version: needs PHP as it is installed on the server, which has none'],
    [{ kind: 'static', php_version: '8.4' }, 'php_version: only a site of kind php has one'],
    [
      { public_dir: '' },
      'public_dir: must be a relative directory, such as public or web/dist, or . for the whole release',
    ],
    [{ public_dir: '/etc' }, undefined],
    [{ public_dir: '../up' }, undefined],
    [{ public_dir: 'a/../b' }, undefined],
    [{ public_dir: '.git' }, undefined],
    [{ public_dir: 'a/.git' }, undefined],
    [{ public_dir: 'a//b' }, undefined],
    [{ public_dir: 'a/' }, undefined],
    [{ public_dir: 'a b' }, undefined],
    [{ public_dir: 'a\nb' }, undefined],
    [{ public_dir: 'a;b' }, undefined],
    [{ public_dir: 'a'.repeat(256) }, undefined],
  ])('cannot be created or changed with %j', async (content, message) => {
    const { data: site } = await create(ada.token)
    for (const answer of [
      await create(ada.token, content),
      await panel.patch(`/sites/${site.id}`, ada.token, content),
    ]) {
      expect([answer.status, answer.error]).toEqual([422, 'validation error'])
      if (message !== undefined) expect(answer.message).toBe(message)
    }
    expect((await panel.get<Site>(`/sites/${site.id}`, ada.token)).data).toEqual(site)
  })

  test('cannot be enabled and disabled in one request', async () => {
    const { data: site } = await create(ada.token)
    const answer = await panel.patch(`/sites/${site.id}`, ada.token, { enabled: true, status: 'disabled' })
    expect([answer.status, answer.message]).toEqual([422, 'status: contradicts enabled; send enabled alone'])
  })

  test('of a customer can be read, changed and deleted by an administrator', async () => {
    const admin = await panel.admin()
    const { data: site } = await create(bob.token)
    expect((await panel.get<Site>(`/sites/${site.id}`, admin)).data).toEqual(site)
    expect((await panel.patch<Site>(`/sites/${site.id}`, admin, { status: 'disabled' })).data.enabled).toBe(false)
    expect((await panel.delete(`/sites/${site.id}`, admin)).status).toBe(200)
    expect((await panel.get(`/sites/${site.id}`, bob.token)).status).toBe(404)
  })

  test.each([
    ['GET', '', undefined],
    ['POST', '', { domain: 'nobody.example' }],
    ['GET', '/1', undefined],
    ['PATCH', '/1', { status: 'disabled' }],
    ['DELETE', '/1', undefined],
  ])('is 401 without a credential: %s /sites%s', async (method, path, body) => {
    for (const headers of [{}, { authorization: 'Bearer nonsense' }]) {
      const answer = await panel.send(method, `/sites${path}`, { headers, ...(body && { body }) })
      expect([answer.status, answer.error, answer.message]).toEqual([
        401,
        'not authenticated',
        'Authentication required',
      ])
    }
  })
})

describe('pages', () => {
  let carl: Customer
  let subscription: number
  let made: number[]
  beforeAll(async () => {
    carl = await panel.customer()
    await panel.subscription(carl.id)
    subscription = await panel.subscription(carl.id)
    made = []
    for (let n = 0; n < 7; n++) made.push((await create(carl.token, { subscription_id: subscription })).data.id)
  })

  test.each([
    [1, [1, 1, 1, 1, 1, 1, 1]],
    [3, [3, 3, 1]],
    [6, [6, 1]],
    [7, [7]],
    [1000, [7]],
  ])('of %i list every site once, in order, and keep the other parameters', async (limit, sizes) => {
    const { pages, links } = await walk(carl.token, `/sites?limit=${limit}&subscription_id=${subscription}`)
    expect(pages.map((page) => page.length)).toEqual(sizes)
    expect(pages.flat()).toEqual(made)
    for (const link of links) {
      const { pathname, searchParams } = new URL(link, panel.origin)
      expect(pathname).toBe('/api/v1/sites')
      expect([...searchParams.keys()].sort()).toEqual(['cursor', 'limit', 'subscription_id'])
      expect([searchParams.get('limit'), searchParams.get('subscription_id')]).toEqual([`${limit}`, `${subscription}`])
    }
  })

  test('hold 100 by default', async () => {
    const dora = await panel.customer()
    await panel.subscription(dora.id)
    await Promise.all(Array.from({ length: 101 }, () => create(dora.token)))
    const { pages } = await walk(dora.token, '/sites')
    expect(pages.map((page) => page.length)).toEqual([100, 1])
    expect(new Set(pages.flat()).size).toBe(101)
  })

  test('count sites, not their aliases', async () => {
    const dora = await panel.customer()
    await panel.subscription(dora.id)
    for (let n = 0; n < 3; n++) await create(dora.token, { aliases: [newDomain(), newDomain(), newDomain()] })
    const answer = await list(dora.token, '?limit=2')
    expect(answer.data.map(({ aliases }) => aliases.length)).toEqual([3, 3])
    expect(answer.headers.get('link')).toContain('cursor=')
  })

  test('continue after a site that was deleted in between', async () => {
    const dora = await panel.customer()
    await panel.subscription(dora.id)
    const ids = []
    for (let n = 0; n < 4; n++) ids.push((await create(dora.token)).data.id)
    const first = await list(dora.token, '?limit=2')
    await panel.delete(`/sites/${ids[1]}`, dora.token)
    const next = /^<([^>]+)>/.exec(first.headers.get('link') ?? '')?.[1] ?? ''
    expect(idsOf(await panel.get<Site[]>(next, dora.token))).toEqual(ids.slice(2))
  })

  test('show another customer nothing, even with a borrowed Link', async () => {
    const first = await list(carl.token, `?limit=2&subscription_id=${subscription}`)
    const next = /^<([^>]+)>/.exec(first.headers.get('link') ?? '')?.[1] ?? ''
    expect((await panel.get(next, carl.token)).status).toBe(200)
    expect((await panel.get(next, ada.token)).status).toBe(403)
  })

  const CURSOR_RULE = 'cursor: take it unchanged from the Link header of the previous page'
  test.each<[string, number, string | undefined]>([
    ['limit=0', 422, 'limit: must be from 1 to 1000'],
    ['limit=1001', 422, 'limit: must be from 1 to 1000'],
    ['limit=-1', 422, 'limit: must be from 1 to 1000'],
    ['limit=x', 400, 'limit: must be an integer'],
    ['limit=1.5', 400, 'limit: must be an integer'],
    ['limit=1e2', 400, 'limit: must be an integer'],
    ['limit=', 400, 'limit: must be an integer'],
    ['limit=1&limit=2', 400, undefined],
    ['cursor=', 422, CURSOR_RULE],
    ['cursor=1', 422, CURSOR_RULE],
    ['cursor=bWFkZSB1cA', 422, CURSOR_RULE],
    [`cursor=${Buffer.from('id:-1').toString('base64url')}`, 422, CURSOR_RULE],
    [`cursor=${Buffer.from('id:1 or 1=1').toString('base64url')}`, 422, CURSOR_RULE],
    [`cursor=${'a'.repeat(65)}`, 422, 'cursor: must be at most 64 characters'],
    ['offset=1', 422, 'offset: is not a known field'],
    ['page=1', 422, 'page: is not a known field'],
  ])('with ?%s are refused', async (query, status, message) => {
    const answer = await list(carl.token, `?${query}`)
    expect([answer.status, answer.error]).toEqual([status, status === 400 ? 'bad request' : 'validation error'])
    if (message !== undefined) expect(answer.message).toBe(message)
  })
})

describe('one site in the context of a subscription', () => {
  test('is found in its own subscription and in no other', async () => {
    const carl = await panel.customer()
    const [first, second] = [await panel.subscription(carl.id), await panel.subscription(carl.id)]
    const { id } = (await create(carl.token)).data
    expect((await panel.get(`/sites/${id}?subscription_id=${first}`, carl.token)).status).toBe(200)
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const answer = await panel.send(method, `/sites/${id}?subscription_id=${second}`, {
        as: carl.token,
        ...(method === 'PATCH' && { body: { status: 'disabled' } }),
      })
      expect([answer.status, answer.message]).toEqual([404, 'No such site in this subscription'])
    }
    expect((await panel.get(`/sites/${id}?subscription_id=abc`, carl.token)).status).toBe(400)
    expect((await panel.get(`/sites/${id}?subscripton_id=1`, carl.token)).status).toBe(422)
    expect((await panel.get<{ status: string }>(`/sites/${id}`, carl.token)).data.status).toBe('provisioning')
  })
})
