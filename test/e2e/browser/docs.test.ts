/** The reference page in a real browser: it renders, authorizes with a key and a JWT, tries a request, and talks to us alone. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { CHROMIUM, chromiumIsInstalled, launchBrowser, serveTls, type Visit, visit } from '../../harness/browser.ts'
import { type Customer, type Panel, startPanel } from '../../harness/panel.ts'

// On a developer's machine a browser is a wish; where the suite decides about a change, its absence is a failure.
const skipped = !chromiumIsInstalled && !process.env.CI
if (skipped)
  process.stderr.write(`\nSKIPPED: test/e2e/browser/docs.test.ts, for there is no Chromium at ${CHROMIUM}\n\n`)
const browserTest = skipped ? test.skip : test
/** A browser on a busy machine is slow; a test that hangs must end all the same. */
const TIMEOUT_MS = 300_000

let panel: Panel
let tls: Awaited<ReturnType<typeof serveTls>>
let browser: Browser
let ada: Customer
let key: string
beforeAll(async () => {
  if (skipped) return
  panel = await startPanel()
  tls = await serveTls(panel)
  ada = await panel.customer()
  key = await panel.key(ada.token)
  await panel.subscription(ada.id)
  await panel.post('/sites', ada.token, { domain: 'www.ada.example' })
  await panel.post('/sites', ada.token, { domain: 'shop.ada.example' })
  const bob = await panel.customer()
  await panel.subscription(bob.id)
  await panel.post('/sites', bob.token, { domain: 'www.bob.example' })
  browser = await launchBrowser()
}, TIMEOUT_MS)
afterAll(async () => {
  if (skipped) return
  await browser?.close()
  await tls?.stop()
  await panel?.stop()
})

async function openDocs(): Promise<Visit> {
  const visited = await visit(browser, `${tls.origin}/api/docs`)
  await visited.page.locator('.opblock').first().waitFor()
  return visited
}

const dialogOf = ({ page }: Visit) => page.locator('.modal-ux')

async function openDialog({ page }: Visit): Promise<void> {
  await page.locator('.auth-wrapper > .btn.authorize').click()
}

async function closeDialog(visited: Visit): Promise<void> {
  await dialogOf(visited).locator('.btn-done').click()
}

/** In the open dialog. */
async function authorize(visited: Visit, credential: string): Promise<void> {
  const dialog = dialogOf(visited)
  await dialog.locator('input').fill(credential)
  await dialog.getByRole('button', { name: 'Apply credentials' }).click()
  await dialog.getByRole('button', { name: 'Remove authorization' }).waitFor()
}

/** In the open dialog. */
async function logOut(visited: Visit): Promise<void> {
  const dialog = dialogOf(visited)
  await dialog.getByRole('button', { name: 'Remove authorization' }).click()
  await dialog.getByRole('button', { name: 'Apply credentials' }).waitFor()
}

const listing = ({ page }: Visit) => page.locator('#operations-Sites-listSites')
const liveResponses = (visited: Visit) => listing(visited).locator('.responses-inner').first()

/** Presses Execute on `GET /api/v1/sites` and reads what the page shows. */
async function listSites(visited: Visit): Promise<{ status: string; body: string }> {
  const operation = listing(visited)
  if ((await operation.locator('.opblock-body').count()) === 0) await operation.locator('.opblock-summary').click()
  const clear = operation.getByRole('button', { name: 'Clear' })
  if ((await clear.count()) > 0) await clear.click()
  await operation.getByRole('button', { name: 'Execute' }).click()
  const live = operation.locator('.live-responses-table')
  await live.locator('tbody .response-col_status').first().waitFor()
  return {
    status: (await live.locator('tbody .response-col_status').first().innerText()).trim(),
    body: await live.locator('tbody .highlight-code pre').first().innerText(),
  }
}

const toSites = ({ requests }: Visit) => requests.filter(({ url }) => url.pathname === '/api/v1/sites')

describe('the reference page in Chromium', () => {
  browserTest(
    'shows every operation of the document, with its method and path',
    async () => {
      const visited = await openDocs()
      await visited.screenshot('1-page', visited.page.locator('body'))
      const shown = await visited.page.locator('.opblock-summary').evaluateAll((summaries) =>
        // The test's types know no DOM.
        (summaries as unknown as { querySelector(selector: string): { textContent: string } }[]).map(
          (summary) =>
            `${summary.querySelector('.opblock-summary-method').textContent} ${summary
              .querySelector('.opblock-summary-path')
              .textContent.replaceAll('\u200B', '')}`,
        ),
      )
      const { paths } = Bun.YAML.parse(await (await fetch(`${panel.origin}/api/docs/openapi.yaml`)).text()) as {
        paths: Record<string, object>
      }
      const documented = Object.entries(paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
      )
      expect(shown.sort()).toEqual(documented.sort())
      expect(await visited.page.title()).toBe('ncp API')
      expect(visited.complaints).toEqual([])
    },
    TIMEOUT_MS,
  )

  browserTest(
    'authorizes with an API key, then with a JWT, tries a request, and contacts no other origin',
    async () => {
      const visited = await openDocs()
      await openDialog(visited)
      await visited.screenshot('2-dialog')
      for (const [kind, credential] of Object.entries({ 'api-key': key, jwt: ada.token })) {
        await authorize(visited, credential)
        await visited.screenshot(`3-${kind}-authorized`)
        await closeDialog(visited)
        const { status, body } = await listSites(visited)
        await visited.screenshot(`4-${kind}-sites`, liveResponses(visited))
        expect([kind, status]).toEqual([kind, expect.stringMatching(/^200/)])
        const shown = JSON.parse(body) as { data: { domain: string }[]; error: null }
        expect(shown.data.map(({ domain }) => domain).sort()).toEqual(['shop.ada.example', 'www.ada.example'])
        expect(shown.error).toBeNull()
        expect(toSites(visited).at(-1)?.authorization).toBe(`Bearer ${credential}`)
        await openDialog(visited)
        await logOut(visited)
      }
      expect(toSites(visited)).toHaveLength(2)
      expect(new Set(visited.requests.map(({ url }) => url.origin))).toEqual(new Set([tls.origin]))
      expect(visited.complaints).toEqual([])
    },
    TIMEOUT_MS,
  )

  browserTest(
    'forgets the credential on logout and on reload, and stores it nowhere',
    async () => {
      const visited = await openDocs()
      await openDialog(visited)
      await authorize(visited, key)
      expect(await visited.page.context().storageState()).toEqual({ cookies: [], origins: [] })
      await logOut(visited)
      await closeDialog(visited)
      const { status, body } = await listSites(visited)
      await visited.screenshot('5-refused', liveResponses(visited))
      expect(status).toStartWith('401')
      expect(JSON.parse(body)).toEqual({ data: null, error: 'not authenticated', message: 'Authentication required' })
      await openDialog(visited)
      await authorize(visited, key)
      await visited.page.reload()
      await visited.page.locator('.opblock').first().waitFor()
      expect((await listSites(visited)).status).toStartWith('401')
      expect(toSites(visited).map(({ authorization }) => authorization)).toEqual([undefined, undefined])
    },
    TIMEOUT_MS,
  )

  browserTest(
    'cannot reach another origin, whatever its scripts try',
    async () => {
      const { page, complaints } = await openDocs()
      const reached = await page.evaluate("fetch('https://example.invalid/').then(() => true, () => false)")
      expect(reached).toBe(false)
      expect(complaints).toContainEqual(expect.stringMatching(/example\.invalid.*Content Security Policy/))
    },
    TIMEOUT_MS,
  )
})
