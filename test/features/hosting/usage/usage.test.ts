/** `/sites/:id/usage`, and what nodes may report of it. */
import { describe, expect, test } from 'bun:test'
import { operator } from '../../../../src/core/actor.ts'
import { siteUsage } from '../../../../src/db/tables.ts'
import type { HourUsage, NodeReport } from '../../../../src/node/protocol.ts'
import { usePanel } from '../../../harness/panel.ts'

type Hour = { hour: string; requests: number; bytes: number; statuses: Record<string, number> }

const HOUR_MS = 3_600_000
const panel = await usePanel()
const ada = await panel.customer()
const bob = await panel.customer()
const subscriptionId = await panel.subscription(ada.id)
await panel.subscription(bob.id)
let names = 0
const newSite = async () =>
  (await panel.post<{ id: number }>('/sites', ada.token, { domain: `used-${++names}.example` })).data.id
const thisHour = () => Math.floor(panel.clock.now() / HOUR_MS) * HOUR_MS

const nothing: NodeReport = { sites: [], releases: [], removedSubscriptions: [] }
const report = (id: string, hours: HourUsage[], node: number | null = null) =>
  panel.services.takeReport(node, { ...nothing, usage: { id, hours } })
const hourOf = (siteId: number, more: Partial<HourUsage> = {}): HourUsage => ({
  siteId,
  hour: thisHour(),
  requests: 3,
  bytes: 100,
  statuses: [0, 1, 1, 1, 0],
  ...more,
})
const usage = async (siteId: number, query = '') =>
  (await panel.get<Hour[]>(`/sites/${siteId}/usage${query}`, ada.token)).data

describe('GET /sites/:id/usage', () => {
  test('shows the hours with requests, the oldest first, within a range', async () => {
    const site = await newSite()
    await report('a', [hourOf(site), hourOf(site, { hour: thisHour() - 2 * HOUR_MS, requests: 1 })])
    expect(await usage(site)).toEqual([
      {
        hour: new Date(thisHour() - 2 * HOUR_MS).toISOString(),
        requests: 1,
        bytes: 100,
        statuses: { '1xx': 0, '2xx': 1, '3xx': 1, '4xx': 1, '5xx': 0 },
      },
      {
        hour: new Date(thisHour()).toISOString(),
        requests: 3,
        bytes: 100,
        statuses: { '1xx': 0, '2xx': 1, '3xx': 1, '4xx': 1, '5xx': 0 },
      },
    ])
    const from = new Date(panel.clock.now()).toISOString()
    expect((await usage(site, `?from=${from}`)).map(({ requests }) => requests)).toEqual([3])
    expect((await usage(site, `?to=${new Date(thisHour()).toISOString()}`)).map(({ requests }) => requests)).toEqual([
      1,
    ])
  })

  test('refuses bad ranges', async () => {
    const site = await newSite()
    for (const [query, field] of [
      ['from=yesterday', 'from'],
      ['to=1', 'to'],
      ['from=2026-02-30T00:00:00Z', 'from'],
      ['from=2026-12-03T00:00:00Z&to=2026-12-02T00:00:00Z', 'from'],
    ]) {
      const { status, message } = await panel.get(`/sites/${site}/usage?${query}`, ada.token)
      expect([query, status, message.split(':')[0]]).toEqual([query, 422, field])
    }
  })

  test('is for those who may see the site', async () => {
    const site = await newSite()
    const path = `/sites/${site}/usage`
    expect((await panel.get(path)).status).toBe(401)
    expect((await panel.get(path, bob.token)).status).toBe(403)
    expect((await panel.get(path, await panel.admin())).status).toBe(200)
    expect((await panel.get(path, await panel.key(ada.token, { scopes: ['deployments:read'] }))).status).toBe(403)
    expect(
      (await panel.get(path, await panel.key(ada.token, { scopes: ['sites:read'], subscription_id: subscriptionId })))
        .status,
    ).toBe(200)
    expect((await panel.get('/sites/99999/usage', ada.token)).status).toBe(404)
  })
})

describe('a report of usage', () => {
  test('counts once, however often it is sent', async () => {
    const site = await newSite()
    await report('b', [hourOf(site)])
    await report('b', [hourOf(site)])
    await report('c', [hourOf(site)])
    expect((await usage(site)).map(({ requests, bytes }) => [requests, bytes])).toEqual([[6, 200]])
  })

  test('counts for the sites of its node alone', async () => {
    const site = await newSite()
    const { node } = await panel.services.nodes.add(operator, 'web-1')
    await report('d', [hourOf(site)], node.id)
    await panel.services.takeReport(node.id, { ...nothing, sizes: [{ siteId: site, bytes: 1, files: 1 }] })
    expect(await usage(site)).toEqual([])
    expect((await panel.get<{ usage: object }>(`/sites/${site}`, ada.token)).data.usage).toEqual({
      disk_bytes: null,
      files: null,
    })
  })

  test('of no site, of the past and of the future is passed over', async () => {
    const site = await newSite()
    await report('e', [
      hourOf(99_999),
      hourOf(site, { hour: thisHour() + 1 }),
      hourOf(site, { hour: thisHour() + 3 * HOUR_MS }),
      hourOf(site, { hour: thisHour() - 8 * 24 * HOUR_MS }),
      hourOf(site, { hour: -HOUR_MS }),
    ])
    expect(await usage(site)).toEqual([])
  })

  test('cannot make numbers that are negative or too large', async () => {
    const site = await newSite()
    await report('f', [hourOf(site, { requests: -5, bytes: 1.5, statuses: [-1] })])
    for (const id of ['g', 'h']) await report(id, [hourOf(site, { requests: Number.MAX_SAFE_INTEGER, bytes: 0 })])
    expect(await usage(site)).toMatchObject([{ requests: Number.MAX_SAFE_INTEGER, bytes: 1 }])
    await panel.services.takeReport(null, { ...nothing, sizes: [{ siteId: site, bytes: -1, files: 1e300 }] })
    expect((await panel.get<{ usage: object }>(`/sites/${site}`, ada.token)).data.usage).toEqual({
      disk_bytes: 0,
      files: Number.MAX_SAFE_INTEGER,
    })
  })
})

test('counts are kept for two months, and go with their site', async () => {
  const [site, gone] = [await newSite(), await newSite()]
  await report('i', [hourOf(site), hourOf(gone)])
  const kept = async () => (await panel.services.store.read.select().from(siteUsage)).map(({ siteId }) => siteId)
  expect(await kept()).toEqual(expect.arrayContaining([site, gone]))
  await panel.delete(`/sites/${gone}`, ada.token)
  expect(await kept()).not.toContain(gone)
  // The clock is believed after a while.
  panel.clock.advance(24 * 60 * 60)
  await panel.runTask('old counts of requests not deleted')
  expect(await kept()).toContain(site)
  panel.clock.advance(62 * 24 * 60 * 60)
  await panel.runTask('old counts of requests not deleted')
  expect(await kept()).toEqual([])
})
