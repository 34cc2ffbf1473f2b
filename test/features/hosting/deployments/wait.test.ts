/** Waiting for the end of a deployment: `GET /sites/:id/deployments/:deployment_id?wait=observed`. */
import { describe, expect, test } from 'bun:test'
import { type Deployment, useDeployments } from './world.ts'

const { panel, newSite, upload, report } = await useDeployments()

type Place = Awaited<ReturnType<typeof newSite>>
type SiteReport = Parameters<typeof panel.services.takeReport>[1]['sites'][number]

const READY = { state: 'ready', files: 1, bytes: 5 }
const FAILED = {
  state: 'failed',
  failure: { code: 'link_outside', message: 'entry 3, a: the link leads outside', retryable: false, retryAt: null },
}

const observe = ({ site, subscription }: Place, generation: number, rest: object = { state: 'serving' }) =>
  panel.services.takeReport(null, {
    sites: [{ subscriptionId: subscription, siteId: site, generation, documentRoot: '/srv', ...rest } as SiteReport],
    releases: [],
    removedSubscriptions: [],
  })

const wait = ({ owner, path }: Place, id: number, query = '', as = owner.token) =>
  panel.get<Deployment>(`${path}/${id}?wait=observed${query}`, as)

/** Asks, and holds that there is no answer after each of the steps but the last. */
async function answerAfter<T>(asking: Promise<T>, ...steps: (() => Promise<unknown>)[]): Promise<T> {
  let isAnswered = false
  void asking.then(() => {
    isAnswered = true
  })
  for (const step of [() => panel.admin(), ...steps]) {
    // Another request, made later, is answered first.
    await panel.get('/healthz')
    expect(isAnswered).toBeFalse()
    await step()
  }
  return asking
}

describe('a request that waits for a deployment is answered once', () => {
  test('it is served, not when it is only ready', async () => {
    const place = await newSite()
    const { id } = (await upload(place)).data
    const { status, data } = await answerAfter(
      wait(place, id),
      () => report(place, id, READY),
      () => observe(place, 1),
      () => observe(place, 2),
    )
    expect([status, data.status]).toEqual([200, 'active'])
    expect((await wait(place, id)).data).toEqual(data)
  })

  test('it has failed', async () => {
    const place = await newSite()
    const { id } = (await upload(place)).data
    const { data } = await answerAfter(wait(place, id), () => report(place, id, FAILED))
    expect(data).toMatchObject({ status: 'failed', failure: { code: 'link_outside' } })
  })

  test('it is ready, where it was not to be activated', async () => {
    const place = await newSite()
    const { id } = (await upload(place, { query: '?activate=false' })).data
    const { data } = await answerAfter(wait(place, id), () => report(place, id, READY))
    expect(data.status).toBe('ready')
  })

  test('it is ready, and a later one is served already', async () => {
    const place = await newSite()
    const first = (await upload(place)).data.id
    const second = (await upload(place)).data.id
    await report(place, second, READY)
    await observe(place, 2)
    const { data } = await answerAfter(wait(place, first), () => report(place, first, READY))
    expect(data.status).toBe('ready')
  })

  test('its site is not served, whatever the reason', async () => {
    const place = await newSite()
    const { id } = (await upload(place)).data
    await report(place, id, READY)
    const { data } = await answerAfter(wait(place, id), () => observe(place, 2, { state: 'disabled' }))
    expect(data.status).toBe('ready')
  })

  test('its site is gone', async () => {
    const place = await newSite()
    const { id } = (await upload(place)).data
    await observe(place, 1)
    const { status } = await answerAfter(
      wait(place, id),
      () => panel.delete(`/sites/${place.site}`, place.owner.token),
      () => observe(place, 2, { state: 'removed' }),
    )
    expect(status).toBe(404)
  })

  test('the time is up, as it is then', async () => {
    const place = await newSite()
    const { id } = (await upload(place)).data
    const { status, data } = await wait(place, id, '&timeout=1')
    expect([status, data.status]).toEqual([200, 'unpacking'])
  })

  test('its session has ended', async () => {
    const place = await newSite()
    const { id } = (await upload(place)).data
    const token = await panel.login(place.owner.email)
    const { status } = await answerAfter(wait(place, id, '', token), () => panel.post('/auth/logout', token))
    expect(status).toBe(401)
  })
})

describe('a request that waits for a deployment', () => {
  test('counts among the hundred that wait for sites', async () => {
    const place = await newSite()
    const { id } = (await upload(place)).data
    const waiting = Array.from({ length: 100 }, () =>
      panel.get(`/sites/${place.site}?wait=observed`, place.owner.token),
    )
    await answerAfter(Promise.race(waiting), async () => {
      expect((await wait(place, id)).data.status).toBe('unpacking')
      await report(place, id, FAILED)
      await observe(place, 1)
    })
    await Promise.all(waiting)
  })

  test.each([
    ['wait=served', 422],
    ['wait=observed&timeout=0', 422],
    ['wait=observed&timeout=11', 422],
    ['wait=observed&timeout=x', 400],
  ])('is refused with ?%s', async (query, status) => {
    const place = await newSite()
    const { id } = (await upload(place)).data
    expect((await panel.get(`${place.path}/${id}?${query}`, place.owner.token)).status).toBe(status)
  })

  test('is refused for the site of another customer, and for a deployment of another site', async () => {
    const [place, other] = [await newSite(), await newSite()]
    const { id } = (await upload(place)).data
    expect((await wait(place, id, '', other.owner.token)).status).toBe(403)
    expect((await wait(other, id)).status).toBe(404)
  })
})
