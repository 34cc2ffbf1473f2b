/** The health path of a site that the panel serves itself: what does not answer is not served. */
import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { usePanel } from '../harness/panel.ts'
import { archiveOf } from '../harness/site-archives.ts'
import { until } from '../harness/until.ts'

type Deployment = { id: number; number: number; status: string; failure: { code: string; message: string } | null }
type Site = { id: number; domain: string; health_path: string | null; current_deployment_id: number | null }

const panel = await usePanel({ sitesPort: 0 })
const ada = await panel.customer()
await panel.subscription(ada.id)
let names = 0

async function create(body: object = {}): Promise<Site> {
  const answer = await panel.post<Site>('/sites', ada.token, { domain: `health-${++names}.example`, ...body })
  expect(answer.status).toBe(201)
  return answer.data
}

/** @returns the deployment at its end */
async function deploy({ id }: Site, files: Record<string, string>, query = ''): Promise<Deployment> {
  const path = `/sites/${id}/deployments`
  const rawBody = archiveOf(files)
  const { data } = await panel.send<Deployment>('POST', path + query, { as: ada.token, rawBody })
  return until('the end of the deployment', async () => {
    const { data: now } = await panel.get<Deployment>(`${path}/${data.id}?wait=observed`, ada.token)
    return ['active', 'ready', 'failed'].includes(now.status) && now
  })
}
const pageOf = async ({ domain }: Site) => (await panel.site(domain, '/')).text()
const releaseOf = ({ id }: Site, { number }: Deployment) => join(panel.data, 'sites', `${id}`, 'releases', `${number}`)

test('a deployment whose health path answers is served; the next, whose does not, fails, and the first stays', async () => {
  const site = await create({ health_path: '/healthz.html?deep=1' })
  const first = await deploy(site, { 'index.html': 'first', 'healthz.html': 'ok' })
  expect([first.status, await pageOf(site)]).toEqual(['active', 'first'])
  const second = await deploy(site, { 'index.html': 'second' })
  expect([second.status, second.failure?.code]).toEqual(['failed', 'health_check_failed'])
  expect(second.failure?.message).toBe(
    'The health path /healthz.html?deep=1 answered 404, and must answer 2xx; what was served before still is',
  )
  expect([await pageOf(site), existsSync(releaseOf(site, first)), existsSync(releaseOf(site, second))]).toEqual([
    'first',
    true,
    false,
  ])
  const kept = await deploy(site, { 'index.html': 'third' }, '?activate=false')
  expect([kept.status, kept.failure?.code]).toEqual(['failed', 'health_check_failed'])
})

test('a redirect is no answer', async () => {
  const site = await create({ health_path: '/docs' })
  const { failure } = await deploy(site, { 'index.html': 'x', 'docs/index.html': 'x' })
  expect(failure?.message).toContain('answered 301, a redirect to ./docs/, and must answer 2xx')
})

test('a site that is switched off is not asked, and one without a path never is', async () => {
  const site = await create({ health_path: '/missing' })
  await panel.patch(`/sites/${site.id}`, ada.token, { enabled: false })
  expect((await deploy(site, { 'index.html': 'x' })).failure).toBeNull()
  await panel.patch(`/sites/${site.id}`, ada.token, { enabled: true, health_path: null })
  expect((await deploy(site, { 'index.html': 'y' })).status).toBe('active')
})

test.each([
  '',
  'healthz',
  '//evil.example/',
  'http://evil.example/',
  '/a/../b',
  '/a/..',
  '/./a',
  '/a b',
  '/a\r\nHost: b',
  '/a#b',
  '/a%2fb',
  '/ä',
  '/a?b?c',
  `/${'x'.repeat(255)}`,
])('%j is no health path', async (health_path) => {
  const answer = await panel.post('/sites', ada.token, { domain: `health-${++names}.example`, health_path })
  expect([answer.status, answer.message]).toEqual([422, expect.stringContaining('health_path: must be a path')])
})

test.each(['/', '/healthz', '/a/b.c/', '/up?deep=1&x=', '/..a'])('%j is one', async (health_path) => {
  expect((await create({ health_path })).health_path).toBe(health_path)
})
