/** Every view of the page in both themes, on a desktop and on a phone: accessible, without sideways scrolling, and as a picture. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { archiveOf, smallArchive } from '../../harness/archives.ts'
import { BROWSER_TIMEOUT_MS, launchBrowser, serveTls, visit } from '../../harness/browser.ts'
import { newDirectory } from '../../harness/directory.ts'
import {
  DESKTOP,
  logIn,
  optionsOf,
  PHONE,
  requireAccessible,
  requireFits,
  requireQuiet,
  skipped,
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
let siteId: number
beforeAll(async () => {
  if (skipped) return
  panel = await startPanel({ sitesPort: 0 })
  tls = await serveTls(panel)
  ada = await panel.customer()
  await panel.subscription(ada.id, { name: 'Business', max_sites: 10 })
  await panel.subscription(ada.id, { name: 'Charity <b>“&”</b>', max_sites: 0 })
  for (const domain of ['www.example.com', 'shop.example.com', ...hostile]) {
    const made = await panel.post<{ id: number }>('/sites', ada.token, { domain, aliases: [`m.${domain.slice(-200)}`] })
    if (domain === 'www.example.com') siteId = made.data.id
  }
  await panel.key(ada.token, { name: 'Old laptop' })
  await panel.key(ada.token, {
    name: 'Deploy script',
    scopes: ['sites:read', 'deployments:write'],
    allowed_cidrs: ['203.0.113.0/24'],
  })
  for (const archive of [archiveOf({ 'index.html': 'Hello' }), linking(), smallArchive()]) {
    const path = `/sites/${siteId}/deployments`
    const { data } = await panel.send<{ id: number }>('POST', path, { as: ada.token, rawBody: archive })
    await panel.get(`${path}/${data.id}?wait=observed`, ada.token)
  }
  browser = await launchBrowser()
  if (SCREENSHOTS) mkdirSync(SCREENSHOTS, { recursive: true })
})
afterAll(async () => {
  await browser?.close()
  await tls?.stop()
  await panel?.stop()
})

/** An archive that is refused. */
function linking() {
  const directory = newDirectory()
  symlinkSync('/etc/passwd', join(directory, 'assets'))
  return new Uint8Array(Bun.spawnSync(['tar', '-cz', '-C', directory, '.']).stdout)
}

/** The views, with what is there when they are. */
const before = [
  ['login', '/login', 'Log in'],
  ['forgot', '/forgot', 'Set a new password'],
  ['reset-password', '/reset-password#token=x', 'Choose a new password'],
  ['reset-password-without-token', '/reset-password', 'This link is not complete'],
  ['activate', '/activate#token=x', 'Welcome'],
  ['confirm-email', '/confirm-email#token=x', 'Confirm your new address'],
] as const
const after = () =>
  [
    ['sites', '/sites', 'Sites'],
    ['new-site', '/sites/new', 'New site'],
    ['site', `/sites/${siteId}`, 'www.example.com'],
    ['site-deployments', `/sites/${siteId}/deployments`, 'www.example.com'],
    ['site-logs', `/sites/${siteId}/logs`, 'www.example.com'],
    ['site-settings', `/sites/${siteId}/settings`, 'www.example.com'],
    ['site-first', `/sites/${siteId + 2}`, 'bücher.example'],
    ['site-gone', '/sites/999', undefined],
    ['keys', '/keys', 'API keys'],
    ['account', '/account', 'Account'],
  ] as const

/** The views of an administrator. */
const afterAdmin = () =>
  [
    ['admin-sites', '/sites', 'Sites'],
    ['admin-new-site', '/sites/new', 'New site'],
    ['admin-users', '/admin/users', 'Users'],
    ['admin-user', `/admin/users/${ada.id}`, 'Customer 1'],
    ['admin-subscriptions', '/admin/subscriptions', 'Subscriptions'],
    ['admin-settings', '/admin/settings', 'Settings'],
    ['admin-audit-log', '/admin/audit-log', 'Audit log'],
    ['admin-nodes', '/admin/nodes', 'Nodes'],
  ] as const

const NARROW = { width: 320, height: 640 }
const looks = [
  ['light', 'desktop', DESKTOP],
  ['dark', 'desktop', DESKTOP],
  ['light', 'phone', PHONE],
  ['dark', 'phone', PHONE],
  ['light', 'narrow', NARROW],
] as const

for (const [theme, size, viewport] of looks) {
  browserTest(`${theme}, ${size}: accessible, fits, quiet`, async () => {
    const visited = await visit(browser, `${tls.origin}/login`, optionsOf(theme, viewport))
    const { page } = visited
    async function look(views: readonly (readonly [string, string, string | undefined])[]) {
      for (const [name, path, heading] of views) {
        await page.goto('about:blank')
        await page.goto(tls.origin + path)
        const wanted = heading === undefined ? {} : { level: 1, name: heading }
        await page.getByRole('heading', wanted).first().waitFor()
        while ((await page.locator('.loading').count()) > 0) {
          await page.locator('.loading').first().waitFor({ state: 'detached' })
        }
        const what = `${name}, ${theme}, ${size}`
        if (SCREENSHOTS && size !== 'narrow') {
          await page.screenshot({
            path: join(SCREENSHOTS, `${name}-${size}-${theme}.png`),
            fullPage: size === 'desktop',
          })
        }
        await requireFits(page, what)
        // What is where, and in which order, is the same at both sizes of a phone, and the colors are those of a desktop.
        if (size !== 'narrow') await requireAccessible(page, what)
      }
    }
    await look(before)
    await page.goto(`${tls.origin}/`)
    await logIn(page, ada.email)
    await page.getByRole('heading', { level: 1, name: 'Sites' }).waitFor()
    await look(after())
    await page.evaluate('sessionStorage.clear()')
    await page.goto(`${tls.origin}/sites`)
    await logIn(page, 'admin@localhost', panel.adminPassword())
    await page.getByRole('heading', { level: 1, name: 'Sites' }).waitFor()
    await look(afterAdmin())
    requireQuiet(visited, tls.origin, /status of 404/)
    await page.context().close()
  })
}

browserTest('in German, whose words are longer, every view fits the narrowest phone', async () => {
  const { page } = await visit(browser, `${tls.origin}/login`, optionsOf('light', NARROW))
  await logIn(page, 'admin@localhost', panel.adminPassword())
  await page.getByRole('heading', { level: 1, name: 'Sites' }).waitFor()
  await page.evaluate("localStorage.setItem('ncp.language', 'de')")
  for (const [name, path] of [...after(), ...afterAdmin()]) {
    await page.goto(tls.origin + path)
    await page.getByRole('heading').first().waitFor()
    while ((await page.locator('.loading').count()) > 0) {
      await page.locator('.loading').first().waitFor({ state: 'detached' })
    }
    expect([name, await page.getAttribute('html', 'lang')]).toEqual([name, 'de'])
    await requireFits(page, `${name}, German`)
  }
})

browserTest('each view has a title of its own', async () => {
  const { page } = await visit(browser, `${tls.origin}/login`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  expect(await page.title()).toBe('Log in · ncp')
})
