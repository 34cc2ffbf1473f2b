/** The setting `require_2fa`: who must enrol can do nothing else, by whatever door, until it is done. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { enrol } from '../../harness/authenticator.ts'
import { type Customer, PASSWORD, type Panel, startPanel } from '../../harness/panel.ts'

let panel: Panel
let ada: Customer
beforeEach(async () => {
  panel = await startPanel()
  ada = await panel.customer()
  await panel.subscription(ada.id)
})
afterEach(() => panel.stop())

const require2fa = async (of: string) =>
  expect((await panel.patch('/admin/settings', await panel.admin(), { require_2fa: of })).status).toBe(200)
const statusOf = async (path: string, as: string) => {
  const { status, error } = await panel.get(path, as)
  return [status, error]
}
const ENROL_FIRST = [403, '2fa_enrolment_required']

describe('required of everyone', () => {
  test('it lets everything through again once the user has enrolled, including API keys', async () => {
    const key = await panel.key(ada.token)
    await require2fa('everyone')
    expect(await statusOf('/sites', key)).toEqual(ENROL_FIRST)
    await enrol(panel, ada.token)
    for (const as of [ada.token, key]) expect(await statusOf('/sites', as)).toEqual([200, null])
  })

  test('a new login may enrol, and log out', async () => {
    await require2fa('everyone')
    const token = await panel.login(ada.email)
    expect(await statusOf('/auth/me', token)).toEqual(ENROL_FIRST)
    expect((await panel.post('/auth/logout', token)).status).toBe(200)
    expect(await statusOf('/auth/me', token)).toEqual([401, 'not authenticated'])
  })

  test('a key cannot enrol', async () => {
    const key = await panel.key(ada.token)
    await require2fa('everyone')
    const answer = await panel.post('/auth/2fa/setup', key, { password: PASSWORD })
    expect([answer.status, answer.error]).toEqual([403, 'forbidden'])
  })

  test('it cannot be switched off by the user', async () => {
    const { freshCode } = await enrol(panel, ada.token)
    await require2fa('everyone')
    const disable = () => panel.post('/auth/2fa/disable', ada.token, { password: PASSWORD, totp_code: freshCode() })
    expect(await disable()).toMatchObject({ status: 409, error: 'conflict' })
    const admin = await panel.admin()
    await enrol(panel, admin, panel.adminPassword())
    await panel.patch('/admin/settings', admin, { require_2fa: 'nobody' })
    expect((await disable()).status).toBe(200)
  })

  test('it survives a restart, since it is read with the credential', async () => {
    expect(await statusOf('/sites', ada.token)).toEqual([200, null])
    await require2fa('everyone')
    expect(await statusOf('/sites', ada.token)).toEqual(ENROL_FIRST)
    const admin = await panel.admin()
    expect(await statusOf('/admin/settings', admin)).toEqual(ENROL_FIRST)
    await enrol(panel, admin, panel.adminPassword())
    await panel.patch('/admin/settings', admin, { require_2fa: 'nobody' })
    expect(await statusOf('/sites', ada.token)).toEqual([200, null])
  })
})

describe('required of administrators', () => {
  test('it applies to them, and to no customer', async () => {
    const boss = await panel.customer('admin')
    const key = await panel.key(boss.token)
    await require2fa('administrators')
    for (const as of [boss.token, key]) expect(await statusOf('/admin/users', as)).toEqual(ENROL_FIRST)
    expect(await statusOf('/sites', ada.token)).toEqual([200, null])
    await enrol(panel, boss.token)
    for (const as of [boss.token, key]) expect(await statusOf('/admin/users', as)).toEqual([200, null])
  })

  test('it applies to a customer who becomes one', async () => {
    const boss = await panel.customer('admin')
    await enrol(panel, boss.token)
    await panel.patch('/admin/settings', boss.token, { require_2fa: 'administrators' })
    await panel.patch(`/admin/users/${ada.id}`, boss.token, { role: 'admin' })
    expect(await statusOf('/admin/users', await panel.login(ada.email))).toEqual(ENROL_FIRST)
  })

  test('customers may still switch 2FA off', async () => {
    const { freshCode } = await enrol(panel, ada.token)
    await require2fa('administrators')
    const body = { password: PASSWORD, totp_code: freshCode() }
    expect((await panel.post('/auth/2fa/disable', ada.token, body)).status).toBe(200)
  })
})

test.each(['', 'all', 'Everyone'])('require_2fa is not %j', async (value) => {
  const answer = await panel.patch('/admin/settings', await panel.admin(), { require_2fa: value })
  expect([answer.status, answer.message]).toEqual([422, 'require_2fa: must be one of nobody, administrators, everyone'])
})
