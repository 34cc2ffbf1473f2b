/** `/sites/:id/logs`: of a site that the panel serves itself, and of one on another node. */
import { describe, expect, test } from 'bun:test'
import { appendFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { operator } from '../../../../src/core/actor.ts'
import { desiredStates, sites } from '../../../../src/db/tables.ts'
import { usePanel } from '../../../harness/panel.ts'

type Line = { time: string | null; text: string; request: { uri: string; status: number; client: string } | null }

const panel = await usePanel({ sitesPort: 0 })
const ada = await panel.customer()
const bob = await panel.customer()
const subscriptionId = await panel.subscription(ada.id)
await panel.subscription(bob.id)
let names = 0
async function newSite() {
  const { data } = await panel.post<{ id: number; domain: string }>('/sites', ada.token, {
    domain: `logged-${++names}.example`,
  })
  await panel.get(`/sites/${data.id}?wait=observed`, ada.token)
  return data
}
const logs = async (id: number, query = '') => (await panel.get<Line[]>(`/sites/${id}/logs${query}`, ada.token)).data

describe('GET /sites/:id/logs', () => {
  test('shows a request as soon as it is answered, the newest last', async () => {
    const site = await newSite()
    expect(await logs(site.id)).toEqual([])
    for (const path of ['/one', '/two?q=%22', '/three.php']) await panel.site(site.domain, path)
    expect(await logs(site.id, '?lines=2')).toEqual([
      {
        time: new Date(panel.clock.now()).toISOString(),
        text: 'GET /two?q=%22 200',
        request: {
          client: '127.0.0.1',
          scheme: 'http',
          host: site.domain,
          method: 'GET',
          uri: '/two?q=%22',
          status: 200,
          bytes: expect.any(Number),
          duration_ms: 0,
          referer: '',
          user_agent: expect.any(String),
        },
      },
      expect.objectContaining({ text: expect.stringMatching(/^GET \/three\.php \d+$/) }),
    ])
    expect((await logs(site.id, '?search=ONE')).map(({ request }) => request?.uri)).toEqual(['/one'])
    expect(await logs(site.id, '?search=nowhere')).toEqual([])
    expect(await logs(site.id, '?kind=php')).toEqual([])
  })

  test('gives lines that are no JSON as they are, without what no text can hold', async () => {
    const site = await newSite()
    const directory = join(panel.data, 'sites/logs', `${site.id}`)
    mkdirSync(directory, { recursive: true })
    appendFileSync(
      join(directory, 'php-2026-12-03.log'),
      Buffer.from('PHP Warning: \xff\u001b[31m in x.php\nnext\n', 'latin1'),
    )
    const hostile = { time: 'yesterday', status: -1, bytes: 1e300, uri: '\ud800', method: 5, client: null }
    appendFileSync(join(directory, 'access-2020-01-01.log'), `not json\n[1]\nnull\n${JSON.stringify(hostile)}\n`)
    expect((await logs(site.id, '?kind=php')).map(({ text }) => text)).toEqual([
      'PHP Warning: \ufffd\u001b[31m in x.php',
      'next',
    ])
    const lines = await logs(site.id)
    expect(lines.map(({ text }) => text)).toEqual(['not json', '  0', 'null', ' \ufffd 0'])
    expect(lines.at(-1)).toMatchObject({ time: null, request: { status: 0, bytes: 0, client: '' } })
  })

  test('refuses what it does not know', async () => {
    const { id } = await newSite()
    for (const [query, status] of [
      ['kind=mail', 422],
      ['kind=../../ncp', 422],
      ['lines=0', 422],
      ['lines=1001', 422],
      ['lines=many', 400],
      ['search=', 422],
      [`search=${'x'.repeat(201)}`, 422],
      ['follow=true', 422],
    ] as const) {
      expect([query, (await panel.get(`/sites/${id}/logs?${query}`, ada.token)).status]).toEqual([query, status])
    }
  })

  test('is for those who may see the site, and for keys with a scope of its own', async () => {
    const { id } = await newSite()
    const path = `/sites/${id}/logs`
    expect((await panel.get(path)).status).toBe(401)
    expect((await panel.get(path, bob.token)).status).toBe(403)
    expect((await panel.get(path, await panel.admin())).status).toBe(200)
    expect((await panel.get(path, await panel.key(ada.token, { scopes: ['sites:read'] }))).status).toBe(403)
    expect(
      (await panel.get(path, await panel.key(ada.token, { scopes: ['logs:read'], subscription_id: subscriptionId })))
        .status,
    ).toBe(200)
    expect((await panel.get('/sites/99999/logs', ada.token)).status).toBe(404)
    await panel.patch(`/admin/subscriptions/${subscriptionId}`, await panel.admin(), { status: 'suspended' })
    expect((await panel.get(path, ada.token)).status).toBe(200)
    await panel.patch(`/admin/subscriptions/${subscriptionId}`, await panel.admin(), { status: 'active' })
  })
})

test('a node is asked with its state, and answers in a report; another node cannot', async () => {
  const carol = await panel.customer()
  await panel.subscription(carol.id)
  const { data: site } = await panel.post<{ id: number }>('/sites', carol.token, { domain: 'elsewhere.example' })
  const [one, other] = [
    (await panel.services.nodes.add(operator, 'web-1')).node.id,
    (await panel.services.nodes.add(operator, 'web-2')).node.id,
  ]
  await panel.services.writeAs(operator, async (tx) => {
    await tx.update(desiredStates).set({ nodeId: one })
    await tx.update(sites).set({ nodeId: one }).where(eq(sites.id, site.id))
  })
  const answered = panel.get<Line[]>(`/sites/${site.id}/logs?lines=5`, carol.token)
  const { readDesired, takeReport, logRequests } = panel.services
  await logRequests.waitForAny(one, AbortSignal.timeout(5000))
  expect((await readDesired(other, 0)).logRequests).toBeUndefined()
  const { logRequests: [asked] = [], siteLogs } = await readDesired(one, 0)
  expect(siteLogs).toEqual({ days: 14, shortAddresses: false })
  expect(asked).toEqual({ id: expect.any(String), siteId: site.id, kind: 'access', lines: 5, search: null })
  const report = { sites: [], releases: [], removedSubscriptions: [] }
  await takeReport(other, { ...report, logAnswers: [{ id: asked?.id ?? '', lines: ['forged'] }] })
  await takeReport(one, { ...report, logAnswers: [{ id: asked?.id ?? '', lines: ['from the node'] }] })
  expect((await answered).data.map(({ text }) => text)).toEqual(['from the node'])
  expect((await panel.get(`/sites/${site.id}/logs?kind=error`, carol.token)).status).toBe(409)
})
