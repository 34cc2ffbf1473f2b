/** Every view of the page in both themes, on a desktop and on a phone: accessible, without sideways scrolling, and as a picture. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { BROWSER_TIMEOUT_MS, launchBrowser, serveTls, visit } from '../../harness/browser.ts'
import {
  DESKTOP,
  logIn,
  optionsOf,
  PHONE,
  requireAccessible,
  requireFits,
  requireQuiet,
  skipped,
  THEMES,
} from '../../harness/page.ts'
import { type Customer, type Panel, startPanel } from '../../harness/panel.ts'

setDefaultTimeout(4 * BROWSER_TIMEOUT_MS)
const browserTest = skipped ? test.skip : test

/** Where pictures go, if wanted: `bun run screenshots`. */
const SCREENSHOTS = process.env.NCP_TEST_SCREENSHOTS

const hostile = [
  'xn--bcher-kva.example',
  `${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.example`,
]

let panel: Panel
let tls: Awaited<ReturnType<typeof serveTls>>
let browser: Browser
let ada: Customer
beforeAll(async () => {
  if (skipped) return
  panel = await startPanel({ sitesPort: 0 })
  tls = await serveTls(panel)
  ada = await panel.customer()
  await panel.subscription(ada.id, { name: 'Business', max_sites: 10 })
  await panel.subscription(ada.id, { name: 'Charity <b>“&”</b>', max_sites: 0 })
  for (const domain of ['www.example.com', 'shop.example.com', ...hostile]) {
    await panel.post('/sites', ada.token, { domain, aliases: [`m.${domain.slice(-200)}`] })
  }
  browser = await launchBrowser()
  if (SCREENSHOTS) mkdirSync(SCREENSHOTS, { recursive: true })
})
afterAll(async () => {
  await browser?.close()
  await tls?.stop()
  await panel?.stop()
})

/** The views, with what is there when they are. */
const before = [
  ['login', '/login', 'Log in'],
  ['forgot', '/forgot', 'Set a new password'],
  ['reset-password', '/reset-password#token=x', 'Choose a new password'],
  ['reset-password-without-token', '/reset-password', 'This link is not complete'],
  ['activate', '/activate#token=x', 'Welcome'],
  ['confirm-email', '/confirm-email#token=x', 'Confirm your new address'],
] as const
const after = () => [['sites', '/sites', 'Sites']] as const

const sizes = { desktop: DESKTOP, phone: PHONE, narrow: { width: 320, height: 640 } }

for (const theme of THEMES) {
  for (const [size, viewport] of Object.entries(sizes)) {
    browserTest(`${theme}, ${size}: accessible, fits, quiet`, async () => {
      const visited = await visit(browser, `${tls.origin}/login`, optionsOf(theme, viewport))
      const { page } = visited
      async function look(views: readonly (readonly [string, string, string])[]) {
        for (const [name, path, heading] of views) {
          await page.goto('about:blank')
          await page.goto(tls.origin + path)
          await page.getByRole('heading', { level: 1, name: heading }).waitFor()
          await page.waitForFunction("!document.querySelector('.loading')")
          const what = `${name}, ${theme}, ${size}`
          if (SCREENSHOTS && size !== 'narrow') {
            await page.screenshot({
              path: join(SCREENSHOTS, `${name}-${size}-${theme}.png`),
              fullPage: size === 'desktop',
            })
          }
          await requireFits(page, what)
          await requireAccessible(page, what)
        }
      }
      await look(before)
      await page.goto(`${tls.origin}/`)
      await logIn(page, ada.email)
      await page.getByRole('heading', { level: 1, name: 'Sites' }).waitFor()
      await look(after())
      requireQuiet(visited, tls.origin)
      await page.context().close()
    })
  }
}

browserTest('each view has a title of its own', async () => {
  const { page } = await visit(browser, `${tls.origin}/login`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  expect(await page.title()).toBe('Log in · ncp')
})
