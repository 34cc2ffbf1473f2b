/** A frontend on another origin in a real browser: it logs in, makes a key, lists sites and reads headers; a foreign page is refused. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { CHROMIUM, chromiumIsInstalled, launchBrowser, serveTls, type Visit, visit } from '../../harness/browser.ts'
import { type Customer, PASSWORD, type Panel, startPanel } from '../../harness/panel.ts'

// On a developer's machine a browser is a wish; where the suite decides about a change, its absence is a failure.
const skipped = !chromiumIsInstalled && !process.env.CI
if (skipped)
  process.stderr.write(`\nSKIPPED: test/e2e/browser/cors.test.ts, for there is no Chromium at ${CHROMIUM}\n\n`)
const browserTest = skipped ? test.skip : test
/** A browser on a busy machine is slow; a test that hangs must end all the same. */
const TIMEOUT_MS = 300_000

/** A page with nothing in it: what it does, the test tells it. */
const blankPage = () =>
  Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ url }) =>
      new Response(url.endsWith('/favicon.ico') ? null : '<!doctype html><title>app</title>', {
        headers: { 'content-type': 'text/html' },
      }),
  })

let app: ReturnType<typeof blankPage>
let foreign: ReturnType<typeof blankPage>
let panel: Panel
let tls: Awaited<ReturnType<typeof serveTls>>
let browser: Browser
let ada: Customer
beforeAll(async () => {
  if (skipped) return
  app = blankPage()
  foreign = blankPage()
  panel = await startPanel({ corsOrigins: [originOf(app)], limitUser: 20 })
  tls = await serveTls(panel)
  ada = await panel.customer()
  await panel.subscription(ada.id)
  for (const domain of ['one.example', 'two.example']) await panel.post('/sites', ada.token, { domain })
  // The page goes by a full bucket.
  panel.clock.advance(120)
  browser = await launchBrowser()
}, TIMEOUT_MS)
afterAll(async () => {
  if (skipped) return
  await browser?.close()
  await tls?.stop()
  await panel?.stop()
  await Promise.all([app, foreign].map((server) => server?.stop(true)))
})

const originOf = ({ port }: { port: number | undefined }) => `http://127.0.0.1:${port}`

type Answer = { status: number; headers: Record<string, string>; body: { data: unknown; error: string | null } }

/** What a page's own script gets to see of the panel's answer; undefined where the browser keeps it. */
function ask({ page }: Visit, path: string, init: object = {}): Promise<Answer | undefined> {
  return page.evaluate(
    async ([url, options]) => {
      try {
        const response = await fetch(url, options)
        const text = await response.text()
        return {
          status: response.status,
          headers: Object.fromEntries(response.headers as never),
          body: text === '' ? undefined : JSON.parse(text),
        }
      } catch {
        return undefined
      }
    },
    [`${tls.origin}${path}`, init] as const,
  )
}

function dataOf<Data>(answer: Answer | undefined): Data {
  if (!answer) throw new Error('the browser kept the answer from the page')
  return answer.body.data as Data
}

const json = (body: object, headers: object = {}) => ({
  method: 'POST',
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json', ...headers },
})

browserTest(
  'a frontend on an allowed origin logs in, creates a key, lists sites, changes one and reads headers and errors',
  async () => {
    const frontend = await visit(browser, originOf(app))
    const login = await ask(frontend, '/api/v1/auth/login', json({ email: ada.email, password: PASSWORD }))
    expect(login?.status).toBe(200)
    const authorization = `Bearer ${dataOf<{ token: string }>(login).token}`

    const created = await ask(
      frontend,
      '/api/v1/auth/api-keys',
      json({ name: 'from the app' }, { authorization, 'idempotency-key': 'a1' }),
    )
    expect(created?.status).toBe(201)
    const { key } = dataOf<{ key: string }>(created)

    const sites = await ask(frontend, '/api/v1/sites?limit=1', { headers: { authorization: `Bearer ${key}` } })
    expect(sites?.status).toBe(200)
    const shown = dataOf<{ id: number; domain: string }[]>(sites)
    expect(shown.map(({ domain }) => domain)).toEqual(['one.example'])
    expect(sites?.headers).toMatchObject({
      link: expect.stringContaining('rel="next"'),
      etag: expect.stringMatching(/^"/),
      'x-ratelimit-limit': '20',
      'x-ratelimit-remaining': expect.stringMatching(/^\d+$/),
      'x-ratelimit-reset': expect.stringMatching(/^\d+$/),
      ratelimit: expect.stringContaining('r='),
      'ratelimit-policy': expect.stringContaining('q=20'),
      'x-request-id': expect.any(String),
    })

    const path = `/api/v1/sites/${shown[0]?.id}`
    const read = await ask(frontend, path, { headers: { authorization } })
    const changed = await ask(frontend, path, {
      ...json({ spa: true }, { authorization, 'if-match': read?.headers.etag }),
      method: 'PATCH',
    })
    expect(changed?.status).toBe(200)

    expect((await ask(frontend, '/api/v1/sites'))?.body).toMatchObject({ error: 'not authenticated' })
    expect((await ask(frontend, '/api/v1/nope', { headers: { authorization } }))?.status).toBe(404)
    const large = await ask(frontend, '/api/v1/auth/login', json({ email: 'x'.repeat(100_000) }))
    expect(large?.status).toBe(413)
    let last: Answer | undefined
    for (let count = 0; count < 25 && last?.status !== 429; count++) {
      last = await ask(frontend, '/api/v1/sites', { headers: { authorization } })
    }
    expect([last?.status, last?.headers['retry-after']]).toEqual([429, '60'])
  },
  TIMEOUT_MS,
)

browserTest(
  'a page on another origin reads nothing, and sends nothing that would change anything',
  async () => {
    panel.clock.advance(120)
    const stranger = await visit(browser, originOf(foreign))
    expect(await ask(stranger, '/livez')).toBeUndefined()
    expect(await ask(stranger, '/api/v1/sites', { headers: { authorization: `Bearer ${ada.token}` } })).toBeUndefined()
    expect(await ask(stranger, '/api/v1/auth/login', json({ email: ada.email, password: PASSWORD }))).toBeUndefined()
    expect(
      await ask(stranger, '/api/v1/sites', json({ domain: 'evil.example' }, { authorization: `Bearer ${ada.token}` })),
    ).toBeUndefined()
    const { data } = await panel.get<{ domain: string }[]>('/sites', ada.token)
    expect(data.map(({ domain }) => domain)).toEqual(['one.example', 'two.example'])
    expect(stranger.complaints.join()).toContain('has been blocked by CORS policy')
  },
  TIMEOUT_MS,
)
