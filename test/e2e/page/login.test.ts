/** Logging in, out and in again in a real browser: second factor, session's end over a form, other tabs, limits, emailed links. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { enrol } from '../../harness/authenticator.ts'
import { BROWSER_TIMEOUT_MS, launchBrowser, serveTls, visit } from '../../harness/browser.ts'
import { type MailingPanel, startMailingPanel } from '../../harness/mailing-panel.ts'
import { logIn, requireQuiet, skipped } from '../../harness/page.ts'
import { PASSWORD } from '../../harness/panel.ts'

setDefaultTimeout(3 * BROWSER_TIMEOUT_MS)
const browserTest = skipped ? test.skip : test

let panel: MailingPanel
let tls: Awaited<ReturnType<typeof serveTls>>
let browser: Browser
beforeAll(async () => {
  if (skipped) return
  panel = await startMailingPanel()
  tls = await serveTls(panel)
  browser = await launchBrowser()
})
afterAll(async () => {
  await browser?.close()
  await tls?.stop()
  await panel?.stop()
})

/** A customer with a subscription and a site. */
async function newCustomer() {
  const customer = await panel.customer()
  await panel.subscription(customer.id)
  const domain = `www.ada${customer.id}.example`
  await panel.post('/sites', customer.token, { domain })
  return { ...customer, domain }
}

const open = (path = '/') => visit(browser, tls.origin + path)
const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true }).waitFor()
const stored = (page: Page) => page.evaluate<string | null>("sessionStorage.getItem('ncp.session')")
/** What Chromium says on its console about every response of 401 or 422. */
const REFUSED = /status of (401|422)/

browserTest('a customer logs in and sees the sites; the credential is in no cookie and no local storage', async () => {
  const ada = await newCustomer()
  const visited = await open('/sites')
  const { page } = visited
  await logIn(page, ada.email)
  await page.getByText(ada.domain).waitFor()
  expect(new URL(page.url()).pathname).toBe('/sites')
  expect(await stored(page)).toContain('token')
  expect(await page.context().storageState()).toEqual({ cookies: [], origins: [] })
  for (const { url } of visited.requests) expect(url.href).not.toContain('eyJ')
  await page.reload()
  await page.getByText(ada.domain).waitFor()
  requireQuiet(visited, tls.origin)
})

browserTest('a wrong password says what to do, keeps the email, and takes nothing for a session', async () => {
  const ada = await newCustomer()
  const visited = await open('/login')
  await logIn(visited.page, ada.email, 'wrong')
  const alert = visited.page.getByRole('alert')
  await alert.waitFor()
  expect(await alert.textContent()).toContain('do not belong together')
  expect(await visited.page.getByLabel('Email').inputValue()).toBe(ada.email)
  expect(await stored(visited.page)).toBeNull()
  requireQuiet(visited, tls.origin, REFUSED)
})

browserTest('the field for a code appears once it is asked for, and takes a recovery code', async () => {
  const ada = await newCustomer()
  const { freshCode, recoveryCodes } = await enrol(panel, ada.token)
  for (const code of [freshCode(), `${recoveryCodes[0]}`]) {
    const { page } = await open('/login')
    expect(await page.getByLabel(/authenticator/).count()).toBe(0)
    await logIn(page, ada.email)
    const field = page.getByLabel(/authenticator/)
    await field.waitFor()
    expect(await page.evaluate('document.activeElement.name')).toBe('totp_code')
    await field.fill('000000')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByText('already used').waitFor()
    await field.fill(code)
    await page.getByRole('button', { name: 'Log in' }).click()
    await heading(page, 'Sites')
  }
})

browserTest('logging out in one tab is told to the others, ends the session, and shows nothing of it', async () => {
  const ada = await newCustomer()
  const { page } = await open('/login')
  await logIn(page, ada.email)
  await page.getByText(ada.domain).waitFor()
  const { token } = JSON.parse(`${await stored(page)}`)
  // A new tab joins the session, without a form.
  const other = await page.context().newPage()
  await other.goto(`${tls.origin}/sites`)
  await other.getByText(ada.domain).waitFor()
  await page.getByRole('button', { name: 'Log out' }).click()
  for (const tab of [page, other]) {
    await heading(tab, 'Log in')
    expect(await tab.getByText(ada.domain).count()).toBe(0)
    expect(await stored(tab)).toBeNull()
  }
  expect((await panel.get('/auth/me', token)).status).toBe(401)
})

browserTest('a session that has ended is renewed in a dialog over what was typed, and the call goes on', async () => {
  const ada = await newCustomer()
  const { page, requests } = await open('/login')
  await logIn(page, ada.email)
  await page.getByText(ada.domain).waitFor()
  const admin = await panel.admin()
  await panel.delete(`/admin/users/${ada.id}/sessions`, admin)
  const filter = page.getByLabel('Filter by domain')
  await filter.fill('ada')
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' })
  await dialog.waitFor()
  await page.keyboard.press('Escape')
  expect(await dialog.isVisible()).toBe(true)
  expect(await dialog.getByLabel('Email').isEditable()).toBe(false)
  await dialog.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await dialog.getByRole('button', { name: 'Log in' }).click()
  await dialog.waitFor({ state: 'hidden' })
  expect(await filter.inputValue()).toBe('ada')
  await page.getByText(ada.domain).waitFor()
  const searches = requests.filter(({ url }) => url.searchParams.get('domain') === 'ada')
  expect(searches.length).toBeGreaterThanOrEqual(2)
  expect(searches.at(-1)?.authorization).not.toBe(searches[0]?.authorization)
})

browserTest('who leaves instead of logging in again sees nothing of the session', async () => {
  const ada = await newCustomer()
  const { page } = await open('/login')
  await logIn(page, ada.email)
  await page.getByText(ada.domain).waitFor()
  await panel.delete(`/admin/users/${ada.id}/sessions`, await panel.admin())
  await page.getByLabel('Filter by domain').fill('x')
  await page.getByRole('button', { name: 'Log out instead' }).click()
  await heading(page, 'Log in')
  expect(await page.getByText(ada.domain).count()).toBe(0)
})

browserTest('the page warns before a session ends', async () => {
  const ada = await newCustomer()
  await panel.patch('/admin/settings', await panel.admin(), { jwt_ttl_seconds: 200 })
  const { page } = await open('/login')
  await logIn(page, ada.email)
  await page.getByText(/Your session ends at/).waitFor()
  await panel.patch('/admin/settings', await panel.admin(), { jwt_ttl_seconds: 86_400 })
  await page.getByRole('button', { name: 'Log in again to stay' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await dialog.getByRole('button', { name: 'Log in' }).click()
  await page.getByText(/Your session ends at/).waitFor({ state: 'hidden' })
})

browserTest('too many attempts are counted down, and the button waits', async () => {
  const limited = await startMailingPanel({ limitLogin: 1 })
  const served = await serveTls(limited)
  const { page } = await visit(browser, `${served.origin}/login`)
  for (const password of ['one', 'two']) await logIn(page, 'nobody@example.com', password)
  await page.getByText(/Too many requests\. Try again in \d+ seconds\./).waitFor()
  expect(await page.getByRole('button', { name: 'Log in' }).isDisabled()).toBe(true)
  await served.stop()
  await limited.stop()
})

browserTest('a panel that does not answer is told, and what was typed stays', async () => {
  const ada = await newCustomer()
  const { page } = await open('/login')
  await page.route('**/api/v1/auth/login', (route) => route.abort())
  await logIn(page, ada.email)
  await page.getByText('The panel does not answer').waitFor()
  expect(await page.getByLabel('Password', { exact: true }).inputValue()).toBe(PASSWORD)
  await page.unroute('**/api/v1/auth/login')
  await page.getByRole('button', { name: 'Log in' }).click()
  await heading(page, 'Sites')
})

/** The path of the link in the newest email, which leads to this origin in production. */
async function linkTo(email: string): Promise<string> {
  const { text } = (await panel.emailsTo(email)).at(-1) ?? { text: '' }
  const [, path = ''] = /https:\/\/panel\.example\.com(\/\S+)/.exec(`${text}`) ?? []
  return path
}

browserTest('a forgotten password is set by the emailed link, whose token leaves the address at once', async () => {
  const ada = await newCustomer()
  const { page } = await open('/login')
  await page.getByRole('link', { name: 'Forgotten?' }).click()
  await page.getByLabel('Email').fill(ada.email)
  await page.getByRole('button', { name: 'Send the link' }).click()
  await heading(page, 'Look at your inbox')
  const link = await linkTo(ada.email)
  expect(link).toMatch(/^\/reset-password#token=.{20,}$/)
  await page.goto(tls.origin + link)
  await heading(page, 'Choose a new password')
  expect(page.url()).toBe(`${tls.origin}/reset-password`)
  const field = page.getByLabel('New password')
  await field.fill('password1')
  await page.getByRole('button', { name: 'Set the password' }).click()
  await page.locator('.mistake').waitFor()
  expect(await field.getAttribute('aria-invalid')).toBe('true')
  await field.fill('a wholly different one')
  await page.getByRole('button', { name: 'Set the password' }).click()
  await page.getByText('Your new password is set').waitFor()
  await logIn(page, ada.email, 'a wholly different one')
  await heading(page, 'Sites')
  // Used again, it says what to do next.
  const again = await open(link)
  await again.page.getByLabel('New password').fill('another different one')
  await again.page.getByRole('button', { name: 'Set the password' }).click()
  await again.page.getByText('This link has been used').waitFor()
  await again.page.getByRole('link', { name: 'Ask for a new link' }).click()
  await heading(again.page, 'Set a new password')
})

browserTest('a new account is activated by its link, and a cut link says what to do', async () => {
  const email = 'grace@example.com'
  await panel.post('/admin/users', await panel.admin(), { email, name: 'Grace', role: 'customer' })
  const link = await linkTo(email)
  const cut = await open(link.slice(0, link.indexOf('#')))
  await heading(cut.page, 'This link is not complete')
  const { page } = await open(link)
  await heading(page, 'Welcome')
  await page.getByLabel('New password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Set the password' }).click()
  await logIn(page, email)
  await heading(page, 'You have no subscription')
})

browserTest('a new address is confirmed by its link, not before the button', async () => {
  const ada = await newCustomer()
  const email = `new-${ada.email}`
  expect((await panel.post('/auth/email', ada.token, { email, password: PASSWORD })).status).toBe(200)
  const link = await linkTo(email)
  const { page } = await open(link)
  await heading(page, 'Confirm your new address')
  expect((await panel.services.users.get(ada.id)).email).toBe(ada.email)
  await page.getByRole('button', { name: 'Confirm' }).click()
  await heading(page, 'Your address is confirmed')
  expect((await panel.services.users.get(ada.id)).email).toBe(email)
})

browserTest('a browser in German gets German, and the choice of a language is kept', async () => {
  const { page } = await visit(browser, `${tls.origin}/login`, { locale: 'de-AT' })
  await heading(page, 'Anmelden')
  expect(await page.getAttribute('html', 'lang')).toBe('de')
  await page.getByRole('button', { name: 'English' }).click()
  await heading(page, 'Log in')
  await page.reload()
  await heading(page, 'Log in')
})
