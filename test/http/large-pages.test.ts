/** Pages are bounded in bytes, however large what they list: a client follows the Link header and gets all of it. */
import { beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { fill } from '../harness/database.ts'
import { type Answer, usePanel } from '../harness/panel.ts'

setDefaultTimeout(600_000)

const MEGABYTE = 1_000_000
/** As long as a name may be. */
const longName = (site: number, alias: number) =>
  `${`a${alias}.s${site}.`.padEnd(58, 'x')}.${'y'.repeat(61)}.${'z'.repeat(61)}.${'w'.repeat(61)}.example`
const SITES = 120
const ALIASES = 100

const panel = await usePanel()
const ada = await panel.customer()
const subscription = await panel.subscription(ada.id)
beforeAll(async () => {
  fill(panel, (insert) => {
    for (let site = 1; site <= SITES; site++) {
      insert('sites', {
        id: site,
        subscription_id: subscription,
        kind: 'static',
        is_enabled: 1,
        spa: 0,
        is_deleting: 0,
        generation: 1,
        observed_generation: 0,
        created_at: 0,
        updated_at: 0,
      })
      for (let position = 0; position <= ALIASES; position++) {
        insert('site_domains', { domain: longName(site, position), site_id: site, position, reversed: '' })
      }
    }
  })
})

type Site = { id: number; aliases: string[] }

/** @returns the rows of each page */
async function pagesOf<Row>(path: string, as: string): Promise<Row[][]> {
  const pages: Row[][] = []
  let next: string | undefined = `/api/v1${path}`
  while (next !== undefined) {
    const page: Answer<Row[]> = await panel.get<Row[]>(next, as)
    expect(page.status).toBe(200)
    expect(JSON.stringify(page.data).length).toBeLessThan(1.1 * MEGABYTE)
    pages.push(page.data)
    next = /^<(.+)>; rel="next"$/.exec(page.headers.get('link') ?? '')?.[1]
  }
  return pages
}

test.each([
  ['of a subscription', () => [`/sites?limit=1000`, ada.token] as const],
  ['of all users', async () => [`/sites?limit=1000`, await panel.admin()] as const],
  ['that are searched', () => [`/sites?limit=1000&domain=a100.`, ada.token] as const],
])('a list of large sites %s comes in pages of a megabyte, each site once and complete', async (_, request) => {
  const [path, as] = await request()
  const pages = await pagesOf<Site>(path, as)
  expect(pages.length).toBeGreaterThan(2)
  expect(pages.flat().map(({ id }) => id)).toEqual(Array.from({ length: SITES }, (_, i) => i + 1))
  expect(pages.flat().every(({ aliases }) => aliases.length === ALIASES)).toBe(true)
})

test('the limit still applies when rows are small, and a single row is returned whatever its size', async () => {
  expect((await panel.get<Site[]>('/sites?limit=1', ada.token)).data).toHaveLength(1)
  expect((await panel.get<Site[]>('/sites?limit=30', ada.token)).data).toHaveLength(30)
})

test('a search without a match in many sites is answered, without a next page', async () => {
  const answer = await panel.get<Site[]>('/sites?domain=nothing', ada.token)
  expect([answer.status, answer.data, answer.headers.get('link')]).toEqual([200, [], null])
})

test('a search of users covers all of them, window by window', async () => {
  fill(panel, (insert) => {
    for (let user = 1; user <= 4500; user++) {
      const email = user % 1500 === 0 ? `wanted${user}@example.com` : `filler${user}@example.com`
      insert('users', { email, name: 'F', role: 'customer', status: 'active', created_at: 0, updated_at: 0 })
    }
  })
  const admin = await panel.admin()
  const found = (await pagesOf<{ email: string }>('/admin/users?email=wanted&limit=2', admin)).map((page) =>
    page.map(({ email }) => email),
  )
  expect(found.flat()).toEqual(['wanted1500@example.com', 'wanted3000@example.com', 'wanted4500@example.com'])
})

test('as many long pages as can wait are all answered', async () => {
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, i) => panel.get<Site[]>(`/sites?limit=${900 + i}`, ada.token)),
  )
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
})

test('requests beyond the queue are refused at once, with a Retry-After', async () => {
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, i) => panel.get(`/sites?limit=1000&domain=a${i}`, ada.token)),
  )
  const statuses = new Set(answers.map(({ status }) => status))
  expect([...statuses].sort()).toEqual([200, 503])
  for (const { status, headers } of answers)
    if (status !== 200) expect([status, headers.get('retry-after')]).toEqual([503, '2'])
})
