/** The events of a site: what was asked, and what its node observed. */
import { describe, expect, test } from 'bun:test'
import { usePanel } from '../../../harness/panel.ts'

type Event = { id: number; site_id: number; kind: string; generation: number; details: object; created_at: string }
type Site = {
  id: number
  status: string
  status_reason: string | null
  generation: number
  observed_generation: number
}

const DAY_SECONDS = 24 * 60 * 60

// A port is configured, and nothing listens on it: the test is the node.
const panel = await usePanel({ sitesPort: 8080 })
const ada = await panel.customer()
const subscriptionId = await panel.subscription(ada.id)

let names = 0
const create = async () => (await panel.post<Site>('/sites', ada.token, { domain: `event-${++names}.example` })).data
const eventsOf = async ({ id }: { id: number }, query = '') =>
  (await panel.get<Event[]>(`/sites/${id}/events${query}`, ada.token)).data
const show = async ({ id }: { id: number }) => (await panel.get<Site>(`/sites/${id}`, ada.token)).data

type SiteReport = Parameters<typeof panel.services.takeReport>[1]['sites'][number]
const report = (site: { id: number }, generation: number, rest: object = { state: 'serving', documentRoot: '/srv' }) =>
  panel.services.takeReport(null, {
    sites: [{ subscriptionId, siteId: site.id, generation, ...rest } as SiteReport],
    releases: [],
    removedSubscriptions: [],
  })

describe('the events of a site', () => {
  test('show what was requested and what was observed, in order', async () => {
    const site = await create()
    await report(site, 1)
    await panel.patch(`/sites/${site.id}`, ada.token, { enabled: false })
    await report(site, 2, { state: 'disabled', documentRoot: '/srv' })
    const events = await eventsOf(site)
    expect(events.map(({ kind, generation }) => [kind, generation])).toEqual([
      ['site.created', 1],
      ['site.active', 1],
      ['site.changed', 2],
      ['site.disabled', 2],
    ])
    expect(events[2]?.details).toEqual({ enabled: false })
    expect(events.every(({ site_id }) => site_id === site.id)).toBeTrue()
  })

  test('are paginated', async () => {
    const site = await create()
    await report(site, 1)
    const first = await panel.get<Event[]>(`/sites/${site.id}/events?limit=1`, ada.token)
    expect(first.data.map(({ kind }) => kind)).toEqual(['site.created'])
    const next = /^<([^>]+)>/.exec(first.headers.get('link') ?? '')?.[1] ?? ''
    expect((await panel.get<Event[]>(next, ada.token)).data.map(({ kind }) => kind)).toEqual(['site.active'])
  })

  test('of another customer are 403, of an unknown site 404, without a credential 401', async () => {
    const bob = await panel.customer()
    await panel.subscription(bob.id)
    const site = await create()
    expect((await panel.get(`/sites/${site.id}/events`, bob.token)).status).toBe(403)
    expect((await panel.get('/sites/999999/events', ada.token)).status).toBe(404)
    expect((await panel.get(`/sites/${site.id}/events`)).status).toBe(401)
    expect((await panel.get(`/sites/${site.id}/events?limit=0`, ada.token)).status).toBe(422)
    expect((await panel.get(`/sites/${site.id}/events?kind=x`, ada.token)).status).toBe(422)
  })
})

describe('what a node reports', () => {
  test('becomes the status, with the generation it refers to', async () => {
    const site = await create()
    expect(await show(site)).toMatchObject({ status: 'provisioning', status_reason: null, observed_generation: 0 })
    await report(site, 1)
    expect(await show(site)).toMatchObject({ status: 'active', generation: 1, observed_generation: 1 })
    await panel.patch(`/sites/${site.id}`, ada.token, { spa: true })
    expect(await show(site)).toMatchObject({ status: 'active', generation: 2, observed_generation: 1 })
    const failure = {
      code: 'public_dir_missing',
      message: 'There is no directory web',
      retryable: false,
      retryAt: null,
    }
    await report(site, 2, { state: 'failed', failure })
    expect(await show(site)).toMatchObject({
      status: 'failed',
      status_reason: failure.message,
      failure: { code: failure.code, message: failure.message, retryable: false, retry_at: null },
    })
  })

  test('about a past or future generation changes nothing', async () => {
    const site = await create()
    await panel.patch(`/sites/${site.id}`, ada.token, { spa: true })
    await report(site, 2)
    const before = await show(site)
    await report(site, 1, { state: 'suspended', documentRoot: '/srv' })
    await report(site, 3, { state: 'suspended', documentRoot: '/srv' })
    expect(await show(site)).toEqual(before)
  })

  test('twice creates one event', async () => {
    const site = await create()
    for (let time = 0; time < 3; time++) await report(site, 1)
    expect(await eventsOf(site)).toHaveLength(2)
  })

  test('of a failure that is tried again moves the time of the next attempt, and is one event until something else fails', async () => {
    const site = await create()
    const failure = { code: 'server_error', message: 'It could not be served', retryable: true }
    const failed = (retryAt: number, rest: object = {}) =>
      report(site, 1, { state: 'failed', failure: { ...failure, retryAt, ...rest } })
    await failed(1000)
    await failed(3000)
    await failed(7000)
    expect(await show(site)).toMatchObject({ status: 'failed', failure: { retry_at: '1970-01-01T00:00:07.000Z' } })
    const kinds = async () => (await eventsOf(site)).map(({ kind }) => kind)
    expect(await kinds()).toEqual(['site.created', 'site.failed'])
    await failed(9000, { code: 'disk_full' })
    await report(site, 1)
    await failed(9000, { code: 'disk_full' })
    expect(await kinds()).toEqual(['site.created', 'site.failed', 'site.failed', 'site.active', 'site.failed'])
  })

  test('about a site of another subscription changes nothing', async () => {
    const bob = await panel.customer()
    const other = await panel.subscription(bob.id)
    const site = await create()
    const reported = {
      subscriptionId: other,
      siteId: site.id,
      generation: 1,
      state: 'serving',
      documentRoot: '/',
    } as const
    await panel.services.takeReport(null, { sites: [reported], releases: [], removedSubscriptions: [] })
    expect(await show(site)).toMatchObject({ status: 'provisioning', observed_generation: 0 })
  })

  test('of another node changes nothing', async () => {
    const site = await create()
    const reported = { subscriptionId, siteId: site.id, generation: 1, state: 'serving', documentRoot: '/' } as const
    await panel.services.takeReport(7, { sites: [reported], releases: [], removedSubscriptions: [] })
    expect(await show(site)).toMatchObject({ status: 'provisioning', observed_generation: 0 })
  })

  test('about a removal counts only if the site is to be removed', async () => {
    const site = await create()
    await report(site, 1)
    await report(site, 1, { state: 'removed' })
    expect(await show(site)).toMatchObject({ status: 'active' })
  })
})

describe('a site known to a node', () => {
  test('is deleting until the node has removed it, and keeps its name until then', async () => {
    const site = await create()
    const { data: shown } = await panel.get<{ domain: string }>(`/sites/${site.id}`, ada.token)
    await report(site, 1)
    for (let time = 0; time < 2; time++) {
      const answer = await panel.delete<Site>(`/sites/${site.id}`, ada.token)
      expect([answer.status, answer.data.status, answer.data.generation]).toEqual([200, 'deleting', 2])
    }
    expect((await panel.post('/sites', ada.token, { domain: shown.domain })).status).toBe(409)
    expect((await panel.patch(`/sites/${site.id}`, ada.token, { spa: true })).status).toBe(409)
    await report(site, 2, { state: 'removed' })
    expect((await panel.get(`/sites/${site.id}`, ada.token)).status).toBe(404)
    expect((await panel.post('/sites', ada.token, { domain: shown.domain })).status).toBe(201)
  })

  test('is also to be removed when its subscription or its user is deleted', async () => {
    const carl = await panel.customer()
    const id = await panel.subscription(carl.id)
    const { data: site } = await panel.post<Site>('/sites', carl.token, { domain: 'carl.example' })
    const { revision } = await panel.services.readDesired(null, 0)
    await panel.delete(`/admin/users/${carl.id}`, await panel.admin())
    const { subscriptions } = await panel.services.readDesired(null, revision)
    expect(subscriptions).toMatchObject([
      { id, state: 'deleting', sites: [{ id: site.id, state: 'deleting', names: [] }] },
    ])
    await panel.services.takeReport(null, {
      sites: [{ subscriptionId: id, siteId: site.id, generation: 0, state: 'removed' }],
      releases: [],
      removedSubscriptions: [id],
    })
    const { subscriptions: left } = await panel.services.readDesired(null, 0)
    expect(left.map((subscription) => subscription.id)).not.toContain(id)
  })
})

describe('the desired state of a node', () => {
  test('comes per subscription, complete, and only if it has changed since', async () => {
    const site = await create()
    const { revision } = await panel.services.readDesired(null, 0)
    expect((await panel.services.readDesired(null, revision)).subscriptions).toEqual([])
    await panel.patch(`/admin/subscriptions/${subscriptionId}`, await panel.admin(), { status: 'suspended' })
    const changed = await panel.services.readDesired(null, revision)
    expect(changed.revision).toBeGreaterThan(revision)
    expect(changed.subscriptions.map(({ id, state }) => [id, state])).toEqual([[subscriptionId, 'suspended']])
    expect(changed.subscriptions[0]?.sites.find(({ id }) => id === site.id)).toMatchObject({
      generation: 2,
      state: 'serving',
      release: null,
    })
    await panel.patch(`/admin/subscriptions/${subscriptionId}`, await panel.admin(), { status: 'active' })
  })
})

test('events are kept for 30 days', async () => {
  const site = await create()
  const prune = async () => {
    const task = panel.services.tasks.find(({ failure }) => failure === 'old events not deleted')
    await task?.run(new AbortController().signal)
    ada.token = await panel.login(ada.email)
    return (await eventsOf(site)).map(({ kind }) => kind)
  }
  panel.clock.advance(30 * DAY_SECONDS)
  expect(await prune()).toEqual(['site.created'])
  await panel.patch(`/sites/${site.id}`, ada.token, { spa: true })
  panel.clock.advance(1)
  expect(await prune()).toEqual(['site.changed'])
})
