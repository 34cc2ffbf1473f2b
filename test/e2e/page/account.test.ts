/** Account, API keys and administration in a real browser, as a customer and as an administrator. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { TOTP } from 'otpauth'
import type { Browser, Page } from 'playwright-core'
import { operator } from '../../../src/core/actor.ts'
import { BROWSER_TIMEOUT_MS, launchBrowser, serveTls, visit } from '../../harness/browser.ts'
import { logIn, requireAccessible, requireQuiet, skipped } from '../../harness/page.ts'
import { PASSWORD, type Panel, startPanel } from '../../harness/panel.ts'

setDefaultTimeout(3 * BROWSER_TIMEOUT_MS)
const browserTest = skipped ? test.skip : test

let panel: Panel
let tls: Awaited<ReturnType<typeof serveTls>>
let browser: Browser
beforeAll(async () => {
  if (skipped) return
  panel = await startPanel()
  tls = await serveTls(panel)
  browser = await launchBrowser()
})
afterAll(async () => {
  await browser?.close()
  await tls?.stop()
  await panel?.stop()
})

async function openAs(path: string, email: string, password = PASSWORD) {
  const visited = await visit(browser, tls.origin + path)
  await logIn(visited.page, email, password)
  await visited.page.getByRole('button', { name: 'Log out' }).waitFor()
  return visited
}

async function customerAt(path: string) {
  const customer = await panel.customer()
  await panel.subscription(customer.id, { name: 'Business' })
  return { ...customer, ...(await openAs(path, customer.email)) }
}

const adminAt = (path: string) => openAs(path, 'admin@localhost', panel.adminPassword())

browserTest('a new password takes the current one, and ends the other sessions', async () => {
  const { page, email, token, ...visited } = await customerAt('/account')
  await page.getByRole('button', { name: 'Change the password' }).click()
  await page.getByLabel('New password').fill('another good sentence')
  await page.getByLabel('Current password').fill('wrong')
  await page.getByRole('button', { name: 'Change the password' }).click()
  await page.locator('.mistake', { hasText: 'The password is wrong.' }).waitFor()
  expect(await page.getByLabel('New password').inputValue()).toBe('another good sentence')
  await page.getByLabel('Current password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Change the password' }).click()
  await page.getByText('Your password is changed').waitFor()
  expect((await panel.get('/auth/me', token)).status).toBe(401)
  await panel.login(email, 'another good sentence')
  requireQuiet({ page, ...visited }, tls.origin, /status of 401/)
})

browserTest(
  'the second factor is set up with the QR code, gives recovery codes once, and is switched off',
  async () => {
    const { page, email, ...visited } = await customerAt('/account')
    await page.getByRole('button', { name: 'Set it up' }).click()
    await page.getByLabel('Current password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Next' }).click()
    const image = page.getByAltText('QR code for the authenticator app')
    await image.waitFor()
    expect(await image.getAttribute('src')).toStartWith('blob:')
    const secret = `${await page.locator('.secret code').textContent()}`
    const code = () => new TOTP({ secret }).generate({ timestamp: panel.clock.now() })
    await page.getByLabel('Code from the app').fill(code())
    await page.getByRole('button', { name: 'Switch it on' }).click()
    await page.getByText('Save these recovery codes').waitFor()
    expect(await page.locator('.codes li').count()).toBe(10)
    await requireAccessible(page, 'recovery codes')
    const done = page.getByRole('button', { name: 'Done' })
    expect(await done.isDisabled()).toBe(true)
    await page.getByLabel('I have saved them').check()
    await done.click()
    await page.getByRole('button', { name: 'New recovery codes' }).waitFor()
    panel.clock.advance(30)
    await page.getByRole('button', { name: 'Switch off' }).click()
    await page.getByLabel('Current password').fill(PASSWORD)
    await page.getByLabel('Code from your authenticator app').fill(code())
    await page.getByRole('button', { name: 'Switch off' }).click()
    await page.getByRole('button', { name: 'Set it up' }).waitFor()
    await panel.login(email)
    requireQuiet({ page, ...visited }, tls.origin)
  },
)

browserTest('a user who must have a second factor is led through it, and then to the page', async () => {
  const customer = await panel.customer()
  await panel.services.settings.change(operator, { requireTwoFactor: 'everyone' })
  const { page } = await visit(browser, `${tls.origin}/sites`)
  await logIn(page, customer.email)
  await page.getByText('Your provider requires two-factor authentication').waitFor()
  await page.getByLabel('Current password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Next' }).click()
  const secret = `${await page.locator('.secret code').textContent()}`
  await page.getByLabel('Code from the app').fill(new TOTP({ secret }).generate({ timestamp: panel.clock.now() }))
  await page.getByRole('button', { name: 'Switch it on' }).click()
  await page.getByLabel('I have saved them').check()
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('heading', { name: 'You have no subscription' }).waitFor()
  await panel.services.settings.change(operator, { requireTwoFactor: 'nobody' })
})

browserTest('other sessions are listed and ended', async () => {
  const { page, token } = await customerAt('/account')
  await page.getByRole('button', { name: /^End the session of/ }).click()
  await page.getByRole('button', { name: /^End the session of/ }).waitFor({ state: 'hidden' })
  expect((await panel.get('/auth/me', token)).status).toBe(401)
  await page.getByText('this one').waitFor()
})

/** The secret that is shown. */
const shownSecret = async (page: Page) => `${await page.locator('.secret code').first().textContent()}`

browserTest('a key is made from a preset, shown once, works in the line for curl, is rotated and deleted', async () => {
  const { page, token, ...visited } = await customerAt('/keys')
  await page.getByRole('button', { name: 'New key' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Deploy script')
  await page.getByText('Sites: read · Deployments: read, change').waitFor()
  await requireAccessible(page, 'a new key')
  await page.getByRole('button', { name: 'Create the key' }).click()
  await page.getByText('“Deploy script” is ready').waitFor()
  await requireAccessible(page, 'a new secret')
  const secret = await shownSecret(page)
  expect(secret).toMatch(/^ncp_[0-9a-f]{64}$/)
  const line = `${await page.locator('.secret code').nth(1).textContent()}`
  const curl = Bun.spawn(['sh', '-c', line.replace(/^curl/, 'curl -sS -k')], { stdout: 'pipe' })
  expect(await new Response(curl.stdout).json()).toMatchObject({ data: [], error: null })
  expect((await panel.get('/subscriptions', secret)).status).toBe(403)
  const [key] = (await panel.get<{ expires_at: string }[]>('/auth/api-keys', token)).data
  const days = (Date.parse(`${key?.expires_at}`) - panel.clock.now()) / 86_400_000
  expect(Math.round(days)).toBe(90)
  await page.getByRole('button', { name: 'I have stored it' }).click()
  expect(await page.getByText(secret).count()).toBe(0)
  await page.getByRole('button', { name: 'Rotate: Deploy script' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click()
  await page.getByText('is ready').first().waitFor()
  expect(await shownSecret(page)).not.toBe(secret)
  await page.getByRole('button', { name: 'Delete: Deploy script' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No API keys').waitFor()
  expect((await panel.get('/sites', secret)).status).toBe(401)
  requireQuiet({ page, ...visited }, tls.origin)
})

browserTest('a mistake in the addresses of a key is told at the field, and all that was chosen stays', async () => {
  const { page } = await customerAt('/keys')
  await page.getByRole('button', { name: 'New key' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Script')
  await page.getByLabel('What it may do').selectOption('custom')
  await page.getByLabel('Sites: read').check()
  await page.getByLabel(/^Only from these addresses/).fill('300.1.2.3')
  await page.getByRole('button', { name: 'Create the key' }).click()
  await page.getByRole('alert').waitFor()
  expect(await page.getByLabel('Sites: read').isChecked()).toBe(true)
  await page.getByLabel(/^Only from these addresses/).fill('203.0.113.0/24')
  await page.getByRole('button', { name: 'Create the key' }).click()
  await page.getByText('“Script” is ready').waitFor()
})

browserTest(
  'an administrator invites a user, makes a subscription, suspends it, disables and deletes the user',
  async () => {
    const { page } = await adminAt('/admin/users')
    await page.getByRole('button', { name: 'New user' }).click()
    await page.getByLabel('Email', { exact: true }).fill('grace@example.com')
    await page.getByLabel('Name', { exact: true }).fill('Grace <script>alert(1)</script>')
    await page.getByRole('button', { name: 'New user' }).click()
    await page.getByText('grace@example.com can now choose a password').waitFor()
    const link = new URL(await shownSecret(page))
    const { page: hers } = await visit(browser, link.href)
    await hers.getByLabel('New password').fill(PASSWORD)
    await hers.getByRole('button', { name: 'Set the password' }).click()
    await logIn(hers, 'grace@example.com')
    await hers.getByRole('heading', { name: 'You have no subscription' }).waitFor()

    await page.getByRole('link', { name: 'Subscriptions' }).click()
    await page.getByRole('button', { name: 'New subscription' }).click()
    await page.getByLabel('Customer').selectOption({ label: 'Grace <script>alert(1)</script>, grace@example.com' })
    await page.getByLabel('Name', { exact: true }).fill('Gold')
    await page.getByRole('button', { name: 'New subscription' }).click()
    await page.getByRole('button', { name: 'Suspend: Gold' }).click()
    await page.getByText('suspended', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'grace@example.com' }).click()
    await page.getByRole('button', { name: 'Disable' }).click()
    await page.getByText('neither sessions nor keys work').waitFor()
    await page.getByRole('link', { name: 'Subscriptions' }).click()
    await page.getByRole('button', { name: 'Delete: Gold' }).click()
    const dialog = page.getByRole('dialog')
    expect(await dialog.getByRole('button', { name: 'Delete', exact: true }).isDisabled()).toBe(true)
    await dialog.getByLabel('Type Gold to confirm').fill('Gold')
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
    await dialog.waitFor({ state: 'hidden' })
    await page.getByRole('link', { name: 'Users', exact: true }).click()
    await page.getByRole('link', { name: 'Grace <script>alert(1)</script>' }).click()
    await page.getByRole('button', { name: 'Delete the user' }).click()
    await page.getByLabel('Type grace@example.com to confirm').fill('grace@example.com')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete the user' }).click()
    await page.getByRole('heading', { level: 1, name: 'Users' }).waitFor()
    await page.getByText('grace@example.com').waitFor({ state: 'hidden' })
  },
)

browserTest('settings are changed, and not over a change that came in between', async () => {
  const { page } = await adminAt('/admin/settings')
  await page.getByLabel('Name of the panel').fill('Example Hosting')
  await panel.patch('/admin/settings', await panel.admin(), { backup_keep: 9 })
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('changed elsewhere').waitFor()
  expect((await panel.get<{ panel_name: null }>('/admin/settings', await panel.admin())).data.panel_name).toBeNull()
  await page.reload()
  await page.getByLabel('Name of the panel').fill('Example Hosting')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved.').waitFor()
  const { data } = await panel.get('/admin/settings', await panel.admin())
  expect(data).toMatchObject({ panel_name: 'Example Hosting', backup_keep: 9, jwt_ttl_seconds: 86_400 })
})

browserTest('a customer has no administration, and gets none by its address', async () => {
  const { page } = await customerAt('/admin/users')
  await page.getByRole('alert').waitFor()
  expect(await page.getByRole('link', { name: 'Audit log' }).count()).toBe(0)
})

browserTest('a chosen theme is kept', async () => {
  const { page } = await customerAt('/account')
  await page.getByLabel('Appearance').selectOption('dark')
  await page.reload()
  await page.getByLabel('Appearance').waitFor()
  expect(await page.getAttribute('html', 'data-theme')).toBe('dark')
})
