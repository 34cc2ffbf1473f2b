/** Activating a deployment that is kept: `POST /sites/:id/deployments/:deployment_id/activate`. */
import { describe, expect, test } from 'bun:test'
import { type Deployment, useDeployments } from './world.ts'

const { panel, newSite, upload, list, report } = await useDeployments()

type Place = Awaited<ReturnType<typeof newSite>>
type Site = { generation: number; current_deployment_id: number | null }

const READY = { state: 'ready', files: 1, bytes: 5 }
const FAILED = {
  state: 'failed',
  failure: { code: 'link_outside', message: 'entry 3, a: the link leads outside', retryable: false, retryAt: null },
}

const show = async ({ site, owner }: Place) => (await panel.get<Site>(`/sites/${site}`, owner.token)).data
const activate = ({ owner, path }: Place, id: number, as = owner.token) =>
  panel.post<Deployment>(`${path}/${id}/activate`, as)
const statusesOf = async (place: Place) => (await list(place)).map(({ status }) => status)

/** The node serves what it is told to. */
async function serve(place: Place): Promise<void> {
  const { generation } = await show(place)
  await panel.services.takeReport(null, {
    sites: [
      { subscriptionId: place.subscription, siteId: place.site, generation, state: 'serving', documentRoot: '/srv' },
    ],
    releases: [],
    removedSubscriptions: [],
  })
}

async function deploy(place: Place, query = ''): Promise<number> {
  const { id } = (await upload(place, { query })).data
  await report(place, id, READY)
  await serve(place)
  return id
}

async function toldToServe({ site }: Place): Promise<number | null | undefined> {
  const { subscriptions } = await panel.services.readDesired(null, 0)
  return subscriptions.flatMap(({ sites }) => sites).find(({ id }) => id === site)?.release
}

describe('activating', () => {
  test('promotes a deployment that was left ready', async () => {
    const place = await newSite()
    await deploy(place)
    const id = await deploy(place, '?activate=false')
    expect([await statusesOf(place), await toldToServe(place)]).toEqual([['ready', 'active'], 1])
    const before = await show(place)
    const { status, message, data } = await activate(place, id)
    expect([status, message]).toEqual([200, 'Deployment activation started'])
    expect(data).toMatchObject({ id, status: 'ready', activated_at: null })
    expect(await show(place)).toMatchObject({ generation: before.generation + 1, current_deployment_id: id })
    expect(await toldToServe(place)).toBe(2)
    const waiting = panel.get<Deployment>(`${place.path}/${id}?wait=observed`, place.owner.token)
    await panel.get('/healthz')
    await serve(place)
    expect((await waiting).data).toMatchObject({ status: 'active', activated_at: expect.any(String) })
    expect(await statusesOf(place)).toEqual(['active', 'superseded'])
  })

  test('goes back to an earlier one, and forward again', async () => {
    const place = await newSite()
    const [first, second] = [await deploy(place), await deploy(place)]
    expect((await activate(place, first)).data.status).toBe('superseded')
    const waiting = panel.get<Deployment>(`${place.path}/${first}?wait=observed`, place.owner.token)
    await panel.get('/healthz')
    await serve(place)
    expect((await waiting).data.status).toBe('active')
    expect([await statusesOf(place), await toldToServe(place)]).toEqual([['superseded', 'active'], 1])
    await activate(place, second)
    await serve(place)
    expect([await statusesOf(place), await toldToServe(place)]).toEqual([['active', 'superseded'], 2])
  })

  test('is told to the site’s events and to the audit log', async () => {
    const place = await newSite()
    const [first] = [await deploy(place), await deploy(place)]
    await activate(place, first)
    await serve(place)
    type Event = { kind: string; details: object; generation: number }
    const events = (await panel.get<Event[]>(`/sites/${place.site}/events?limit=100`, place.owner.token)).data
    const { generation } = await show(place)
    expect(events.slice(-3)).toMatchObject([
      { kind: 'deployment.activating', generation, details: { deployment_id: first, number: 1 } },
      { kind: 'site.active', generation },
      { kind: 'deployment.active', details: { deployment_id: first, number: 1 } },
    ])
    const [entry] = (await panel.get<object[]>('/audit-log?action=deployment.activate', place.owner.token)).data
    expect(entry).toMatchObject({
      target_type: 'deployment',
      target_id: first,
      details: { site_id: place.site, number: 1 },
    })
  })

  test('what is to be served already changes nothing', async () => {
    const place = await newSite()
    const id = await deploy(place)
    const before = await show(place)
    expect((await activate(place, id)).status).toBe(200)
    expect(await show(place)).toEqual(before)
  })

  test('counts more than an upload before it, and less than one after it', async () => {
    const place = await newSite()
    const first = await deploy(place)
    await deploy(place)
    const unpacking = (await upload(place)).data.id
    await activate(place, first)
    await serve(place)
    await report(place, unpacking, READY)
    expect([await statusesOf(place), await toldToServe(place)]).toEqual([['ready', 'superseded', 'active'], 1])
    await deploy(place)
    expect(await toldToServe(place)).toBe(4)
  })

  test('keeps the deployment, however many follow that are not activated', async () => {
    const place = await newSite()
    const first = await deploy(place)
    await deploy(place)
    await activate(place, first)
    await serve(place)
    for (let i = 0; i < 6; i++) await deploy(place, '?activate=false')
    expect((await list(place)).find(({ id }) => id === first)?.status).toBe('active')
  })
})

describe('activating is refused', () => {
  test('for a deployment that failed, or that is being unpacked', async () => {
    const place = await newSite()
    const { id } = (await upload(place)).data
    const early = await activate(place, id)
    expect([early.status, early.message]).toEqual([
      409,
      'The deployment is still being unpacked; wait for it with wait=observed',
    ])
    await report(place, id, FAILED)
    const late = await activate(place, id)
    expect([late.status, late.message]).toEqual([409, 'The deployment has failed, and there is nothing to serve'])
    expect(await toldToServe(place)).toBeNull()
  })

  test('in a suspended subscription, and for a site that is being deleted', async () => {
    const place = await newSite()
    const [first] = [await deploy(place), await deploy(place)]
    const suspend = async (status: string) =>
      panel.patch(`/admin/subscriptions/${place.subscription}`, await panel.admin(), { status })
    await suspend('suspended')
    expect((await activate(place, first)).message).toBe('The subscription is suspended')
    await suspend('active')
    await panel.delete(`/sites/${place.site}`, place.owner.token)
    const { status, message } = await activate(place, first)
    expect([status, message]).toEqual([409, 'The site is being deleted'])
  })

  test('to another customer, to a key without the scope or bound elsewhere, and for another site', async () => {
    const [place, other] = [await newSite(), await newSite()]
    const [first] = [await deploy(place), await deploy(place)]
    const elsewhere = await panel.subscription(place.owner.id, { name: 'Other' })
    const reader = await panel.key(place.owner.token, { scopes: ['deployments:read'] })
    const bound = await panel.key(place.owner.token, { subscription_id: elsewhere })
    for (const as of [other.owner.token, reader, bound]) expect((await activate(place, first, as)).status).toBe(403)
    expect((await activate(other, first)).status).toBe(404)
    expect((await activate(place, 999_999)).status).toBe(404)
    expect((await panel.post(`${place.path}/${first}/activate?activate=true`, place.owner.token)).status).toBe(422)
    expect(await toldToServe(place)).toBe(2)
    const writer = await panel.key(place.owner.token, {
      scopes: ['deployments:write'],
      subscription_id: place.subscription,
    })
    expect((await activate(place, first, writer)).status).toBe(200)
  })
})
