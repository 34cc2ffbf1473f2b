/** Waiting for a change to be served: `GET /sites/:id?wait=observed`. */
import { describe, expect, test } from 'bun:test'
import { operator } from '../../../../src/core/actor.ts'
import { usePanel } from '../../../harness/panel.ts'

type Site = { id: number; status: string; generation: number; observed_generation: number }

// A port is configured, and nothing listens on it: the test is the node.
const panel = await usePanel({ sitesPort: 8080 })
const ada = await panel.customer()
const subscriptionId = await panel.subscription(ada.id)

let names = 0
const create = async () => (await panel.post<Site>('/sites', ada.token, { domain: `wait-${++names}.example` })).data
const report = (site: { id: number }, generation: number, state: 'serving' | 'removed') =>
  panel.services.takeReport(null, {
    sites: [
      {
        subscriptionId,
        siteId: site.id,
        generation,
        ...(state === 'serving' ? { state, documentRoot: '/srv' } : { state }),
      },
    ],
    releases: [],
    removedSubscriptions: [],
  })
const wait = (site: { id: number }, query = '', as = ada.token) =>
  panel.get<Site>(`/sites/${site.id}?wait=observed${query}`, as)

/** Asks, and looks whether there is an answer before something happens. */
async function waitThrough<T>(asking: Promise<T>, happens: () => Promise<unknown>): Promise<T> {
  let isAnswered = false
  void asking.then(() => {
    isAnswered = true
  })
  // Another request, made later, is answered first.
  await panel.get('/auth/me', ada.token)
  expect(isAnswered).toBeFalse()
  await happens()
  return asking
}

describe('a waiting request', () => {
  test('is answered once the node has reported on the newest generation', async () => {
    const site = await create()
    const answer = await waitThrough(wait(site), async () => report(site, 1, 'serving'))
    expect(answer.data).toMatchObject({ status: 'active', generation: 1, observed_generation: 1 })
    expect((await wait(site)).data).toEqual(answer.data)
  })

  test('is not satisfied by an older generation', async () => {
    const site = await create()
    await panel.patch(`/sites/${site.id}`, ada.token, { spa: true })
    await report(site, 1, 'serving')
    const answer = await waitThrough(wait(site), async () => report(site, 2, 'serving'))
    expect(answer.data).toMatchObject({ generation: 2, observed_generation: 2 })
  })

  test('is 404 once the site has been deleted', async () => {
    const site = await create()
    await report(site, 1, 'serving')
    await panel.delete(`/sites/${site.id}`, ada.token)
    expect((await waitThrough(wait(site), async () => report(site, 2, 'removed'))).status).toBe(404)
  })

  test('returns the site as it is when the time is up', async () => {
    const site = await create()
    const answer = await wait(site, '&timeout=1')
    expect([answer.status, answer.data.status]).toEqual([200, 'provisioning'])
  })

  test('is 401 once its session has ended, whatever the node reports', async () => {
    const site = await create()
    const token = await panel.login(ada.email)
    const answer = await waitThrough(wait(site, '', token), async () => panel.post('/auth/logout', token))
    expect(answer.status).toBe(401)
  })

  test('is 401 once its user is disabled', async () => {
    const carl = await panel.customer()
    await panel.subscription(carl.id)
    const { data: site } = await panel.post<Site>('/sites', carl.token, { domain: 'disabled.example' })
    const answer = await waitThrough(wait(site, '', carl.token), async () =>
      panel.services.users.change(operator, carl.id, { status: 'disabled' }),
    )
    expect(answer.status).toBe(401)
  })

  test('beyond the hundredth is answered at once', async () => {
    const site = await create()
    const waiting = Array.from({ length: 100 }, () => wait(site))
    await waitThrough(Promise.race(waiting), async () => {
      expect((await wait(site)).data.status).toBe('provisioning')
      await report(site, 1, 'serving')
    })
    const answers = await Promise.all(waiting)
    expect(new Set(answers.map(({ data }) => data.status))).toEqual(new Set(['active']))
  })

  test.each([
    ['wait=served', 422],
    ['wait=observed&timeout=0', 422],
    ['wait=observed&timeout=11', 422],
    ['wait=observed&timeout=x', 400],
    ['wait=observed&wait=observed', 400],
  ])('is refused with ?%s', async (query, status) => {
    const site = await create()
    expect((await panel.get(`/sites/${site.id}?${query}`, ada.token)).status).toBe(status)
  })
})

test('waiting requests do not delay the shutdown of the panel', async () => {
  const own = await usePanel({ sitesPort: 8080 })
  const bob = await own.customer()
  await own.subscription(bob.id)
  const { data: site } = await own.post<Site>('/sites', bob.token, { domain: 'end.example' })
  const waiting = own.get<Site>(`/sites/${site.id}?wait=observed`, bob.token)
  await own.get('/auth/me', bob.token)
  own.services.commits.stop()
  expect((await waiting).data.status).toBe('provisioning')
})
