/** Sites in a real browser: created by keyboard alone, deployed from a folder and an archive, changed by two, switched off, deleted. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { archiveOf, smallArchive } from '../../harness/archives.ts'
import { BROWSER_TIMEOUT_MS, launchBrowser, serveTls, visit } from '../../harness/browser.ts'
import { newDirectory } from '../../harness/directory.ts'
import { logIn, requireQuiet, skipped } from '../../harness/page.ts'
import { PASSWORD, type Panel, startPanel } from '../../harness/panel.ts'

setDefaultTimeout(3 * BROWSER_TIMEOUT_MS)
const browserTest = skipped ? test.skip : test

let panel: Panel
let tls: Awaited<ReturnType<typeof serveTls>>
let browser: Browser
beforeAll(async () => {
  if (skipped) return
  panel = await startPanel({ sitesPort: 0 })
  tls = await serveTls(panel)
  browser = await launchBrowser()
})
afterAll(async () => {
  await browser?.close()
  await tls?.stop()
  await panel?.stop()
})

/** A customer who is logged in, with a site if one is named. */
async function newCustomer(domain?: string) {
  const customer = await panel.customer()
  const subscription = await panel.subscription(customer.id, { name: 'Business', max_sites: 5 })
  const made = domain === undefined ? undefined : await panel.post<{ id: number }>('/sites', customer.token, { domain })
  const visited = await visit(browser, `${tls.origin}/${made ? `sites/${made.data.id}` : ''}`)
  await logIn(visited.page, customer.email)
  await visited.page.getByRole('button', { name: 'Log out' }).waitFor()
  return { ...customer, subscription, siteId: made?.data.id ?? 0, ...visited }
}

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()

/** Presses Tab until a control of this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 40; presses++) {
    await page.keyboard.press('Tab')
    const focused = await page.evaluate<string>(
      `(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim() || document.activeElement.getAttribute('aria-label') || ''`,
    )
    if (focused === name) return
  }
  throw new Error(`No control ${name} is reached with Tab`)
}

browserTest('with the keyboard alone: log in, create a site, delete it', async () => {
  const ada = await panel.customer()
  await panel.subscription(ada.id)
  const visited = await visit(browser, `${tls.origin}/login`)
  const { page } = visited
  await page.getByLabel('Email').waitFor()
  await page.keyboard.type(ada.email)
  await tabTo(page, 'Password')
  await page.keyboard.type(PASSWORD)
  await page.keyboard.press('Enter')
  await heading(page, 'Sites')
  await tabTo(page, 'New site')
  await page.keyboard.press('Enter')
  await page.getByLabel('Domain', { exact: true }).waitFor()
  await page.locator('[name=domain]:focus').waitFor()
  await page.keyboard.type('keyboard.example')
  await page.keyboard.press('Enter')
  await heading(page, 'keyboard.example')
  await tabTo(page, 'Settings')
  await page.keyboard.press('Enter')
  await tabTo(page, 'Delete the site')
  await page.keyboard.press('Enter')
  await tabTo(page, 'Type keyboard.example to confirm')
  await page.keyboard.type('keyboard.example')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'This site is gone' }).waitFor()
  requireQuiet(visited, tls.origin, /status of 404/)
})

browserTest('a folder with long and foreign names is packed here, deployed, and served', async () => {
  const { page, siteId } = await newCustomer('folder.example')
  const folder = newDirectory()
  const long = `${'nested/'.repeat(20)}page.html`
  const files = { 'site/index.html': '<h1>Welcome</h1>', 'site/grüße.html': 'Grüße', [`site/${long}`]: 'deep' }
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  await page.locator('input[type=file][multiple]').setInputFiles(join(folder, 'site'))
  await page.getByText('Version 1 is served').waitFor()
  await page.getByRole('link', { name: 'Deployments' }).click()
  await page.getByText('Served', { exact: true }).waitFor()
  for (const [path, content] of Object.entries(files)) {
    expect(await (await panel.site('folder.example', encodeURI(path.slice('site'.length)))).text()).toBe(content)
  }
  expect((await panel.get<unknown[]>(`/sites/${siteId}/deployments`, await panel.admin())).data).toHaveLength(1)
})

browserTest('an archive is taken as it is; anything else says what to choose', async () => {
  const { page } = await newCustomer('archive.example')
  const archive = page.locator('input[type=file]:not([multiple])')
  await archive.setInputFiles({ name: 'photo.rar', mimeType: 'application/vnd.rar', buffer: Buffer.from('Rar!') })
  await page.getByText('an archive in .tar.gz, .tar or .zip').waitFor()
  await archive.setInputFiles({
    name: 'not.tar.gz',
    mimeType: 'application/gzip',
    buffer: Buffer.from('nothing of the kind'),
  })
  await page.getByRole('alert').waitFor()
  await archive.setInputFiles({
    name: 'site.tar.gz',
    mimeType: 'application/gzip',
    buffer: Buffer.from(smallArchive()),
  })
  await page.getByText('Version 1 is served').waitFor()
})

browserTest('an earlier version is served again', async () => {
  const { page, siteId, token } = await newCustomer('back.example')
  for (const text of ['first', 'second']) {
    const path = `/sites/${siteId}/deployments`
    const sent = { as: token, rawBody: archiveOf({ 'index.html': text }) }
    const { data } = await panel.send<{ id: number }>('POST', path, sent)
    await panel.get(`${path}/${data.id}?wait=observed`, token)
  }
  await page.getByRole('link', { name: 'Deployments' }).click()
  await page.getByRole('button', { name: 'Serve version 1' }).click()
  await page.getByRole('button', { name: 'Serve version 2' }).waitFor()
  await page.getByRole('button', { name: 'Serve version 1' }).waitFor({ state: 'detached' })
  expect(await (await panel.site('back.example')).text()).toBe('first')
})

browserTest('a mistake is told at its field, and what was typed stays', async () => {
  const { page } = await newCustomer('mine.example')
  await page.goto(`${tls.origin}/sites/new`)
  const domain = page.getByLabel('Domain', { exact: true })
  for (const [typed, mistake] of [
    ['', 'must be'],
    ['<script>alert(1)</script>', 'must be a full domain name'],
    ['mine.example', 'already has this name'],
  ] as const) {
    await domain.fill(typed)
    await page.getByRole('button', { name: 'Create the site' }).click()
    await page.locator('.mistake', { hasText: mistake }).waitFor()
    expect(await domain.inputValue()).toBe(typed)
    expect(await page.evaluate('document.activeElement.name')).toBe('domain')
  }
  await domain.fill('other.example')
  await page.getByRole('button', { name: 'Create the site' }).click()
  await heading(page, 'other.example')
})

browserTest('sending a form twice creates one site', async () => {
  const { page, token } = await newCustomer()
  await page.goto(`${tls.origin}/sites/new`)
  await page.getByLabel('Domain', { exact: true }).fill('once.example')
  let answers = 0
  // The first answer is lost on its way.
  await page.route('**/api/v1/sites', async (route) => {
    if (route.request().method() !== 'POST') return route.fallback()
    const response = await route.fetch()
    return answers++ === 0 ? route.abort() : route.fulfill({ response })
  })
  await page.getByRole('button', { name: 'Create the site' }).click()
  await page.getByText('The panel does not answer').waitFor()
  await page.getByRole('button', { name: 'Create the site' }).click()
  await heading(page, 'once.example')
  expect((await panel.get<unknown[]>('/sites', token)).data).toHaveLength(1)
})

browserTest('a change that was made elsewhere is shown, and not overwritten before it is saved again', async () => {
  const { page, siteId, token } = await newCustomer('both.example')
  await page.getByRole('link', { name: 'Settings' }).click()
  await page.getByLabel('Other names').fill('mine.both.example')
  await panel.patch(`/sites/${siteId}`, token, { aliases: ['theirs.both.example'] })
  const save = page.getByRole('button', { name: 'Save' })
  const aliases = async () => (await panel.get<{ aliases: string[] }>(`/sites/${siteId}`, token)).data.aliases
  await save.click()
  await page.getByText('Other names is now: theirs.both.example').waitFor()
  expect(await aliases()).toEqual(['theirs.both.example'])
  expect(await page.getByLabel('Other names').inputValue()).toBe('mine.both.example')
  await save.click()
  await page.getByText('Saved').waitFor()
  expect(await aliases()).toEqual(['mine.both.example'])
})

browserTest('a site is switched off and on, and shows it without a reload', async () => {
  const { page, siteId, token } = await newCustomer('switch.example')
  await page.getByRole('link', { name: 'Settings' }).click()
  await page.getByRole('button', { name: 'Switch off' }).click()
  await page.locator('.pill', { hasText: 'Switched off' }).waitFor()
  await page.getByRole('button', { name: 'Switch on' }).click()
  await page.locator('.pill', { hasText: 'Active' }).waitFor()
  // What another client does is seen as well.
  await panel.patch(`/sites/${siteId}`, token, { enabled: false })
  await page.locator('.pill', { hasText: 'Switched off' }).waitFor()
})

browserTest('an administrator sees all sites, and names the subscription of a new one', async () => {
  const ada = await newCustomer('ofada.example')
  const { page } = await visit(browser, `${tls.origin}/sites`)
  await logIn(page, 'admin@localhost', panel.adminPassword())
  await page.getByRole('link', { name: 'ofada.example', exact: true }).waitFor()
  await page.getByRole('link', { name: 'New site' }).click()
  await page.getByLabel('Domain', { exact: true }).fill('byadmin.example')
  await page.getByLabel('Subscription').selectOption(`${ada.subscription}`)
  await page.getByRole('button', { name: 'Create the site' }).click()
  await heading(page, 'byadmin.example')
})

browserTest('what is open is read again with a condition, and answered with 304', async () => {
  const { page } = await newCustomer('quiet.example')
  await heading(page, 'quiet.example')
  const again = await page.waitForResponse((response) => response.status() === 304)
  expect(again.request().headers()['if-none-match']).toMatch(/^".+"$/)
  await heading(page, 'quiet.example')
})
