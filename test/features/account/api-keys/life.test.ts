/** The life of a key: rotated with a grace period, renamed, given a new expiry, and its end told in time. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { TOTP } from 'otpauth'
import { apiKeys } from '../../../../src/db/tables.ts'
import { newDirectory } from '../../../harness/directory.ts'
import { spokenTime } from '../../../harness/mailing-panel.ts'
import { type Customer, PASSWORD, type Panel, startPanel } from '../../../harness/panel.ts'
import { type Smtp, startSmtp } from '../../../harness/smtp.ts'

type Created = { id: number; key: string; key_prefix: string; expires_at: string | null; previous_key?: Previous }
type Previous = { key_prefix: string; valid_until: string }
type Listed = Omit<Created, 'key'> & { name: string }

const HOUR_SECONDS = 3600
const DAY_SECONDS = 24 * HOUR_SECONDS
const TIME_RULE = 'expires_at: must be an RFC 3339 date-time with an offset, such as 2027-12-31T23:59:59Z'

let smtp: Smtp
let panel: Panel
let ada: Customer
const data = newDirectory('ncp-keys-')
const start = () =>
  startPanel({ data, mailServer: smtp.at(), mailFrom: 'ncp@example.com', publicUrl: 'https://panel.example.com' })
beforeAll(async () => {
  smtp = await startSmtp()
  panel = await start()
})
afterAll(async () => {
  await panel.stop()
  await smtp.stop()
  rmSync(data, { recursive: true })
})
beforeEach(async () => {
  ada = await panel.customer()
})

const after = (seconds: number) => new Date(panel.clock.now() + seconds * 1000).toISOString()
const loggedIn = async () => {
  ada = { ...ada, token: await panel.login(ada.email) }
  return ada.token
}
const create = async (body: object = {}) =>
  (await panel.post<Created>('/auth/api-keys', ada.token, { name: 'Deploy', ...body })).data
const rotate = (id: number, body: object = {}, as = ada.token) =>
  panel.post<Created>(`/auth/api-keys/${id}/rotate`, as, body)
const change = (id: number, body: object, as = ada.token) => panel.patch<Listed>(`/auth/api-keys/${id}`, as, body)
const list = async () => (await panel.get<Listed[]>('/auth/api-keys', ada.token)).data
const statusOf = async (key: string) => (await panel.get('/auth/me', key)).status
async function emailsToAda() {
  await panel.services.outbox.deliver()
  return smtp.to(ada.email)
}

/** Asks users with a second factor for a code, as an administrator may. */
async function requireCode(): Promise<void> {
  await panel.patch('/admin/settings', await panel.admin(), { require_code_for_api_keys: true })
}

async function enrol(): Promise<() => string> {
  const { secret } = (await panel.post<{ secret: string }>('/auth/2fa/setup', ada.token, { password: PASSWORD })).data
  const code = () => {
    panel.clock.advance(30)
    return new TOTP({ secret }).generate({ timestamp: panel.clock.now() })
  }
  expect((await panel.post('/auth/2fa/enable', ada.token, { totp_code: code() })).status).toBe(200)
  return code
}

describe('rotating a key', () => {
  test('needs no body, and keeps the old secret for a day', async () => {
    const old = await create()
    const answer = await panel.send<Created>('POST', `/auth/api-keys/${old.id}/rotate`, { as: ada.token })
    expect([answer.status, answer.message]).toEqual([200, 'API key rotated'])
    expect(answer.data.previous_key?.valid_until).toBe(after(86_400))
    const empty = await panel.send('POST', `/auth/api-keys/${old.id}/rotate`, { as: ada.token, rawBody: '[]' })
    expect([empty.status, empty.message]).toEqual([400, 'body: must be an object'])
  })

  test('returns a new secret, and keeps the old one for a day', async () => {
    const old = await create({ scopes: ['sites:read'], expires_at: after(30 * DAY_SECONDS) })
    const { status, message, data: rotated } = await rotate(old.id)
    expect([status, message]).toEqual([200, 'API key rotated'])
    expect(rotated).toEqual({
      ...old,
      key: expect.stringMatching(/^ncp_[0-9a-f]{64}$/),
      key_prefix: rotated.key.slice(0, 20),
      previous_key: { key_prefix: old.key_prefix, valid_until: after(DAY_SECONDS) },
    })
    expect(rotated.key).not.toBe(old.key)
    expect([await statusOf(old.key), await statusOf(rotated.key)]).toEqual([200, 200])
    const [listed] = await list()
    expect([listed?.key_prefix, listed?.previous_key]).toEqual([rotated.key_prefix, rotated.previous_key as Previous])
    // Both are the same key: its scopes hold for both.
    expect((await panel.get('/subscriptions', old.key)).error).toBe('scope_missing')

    panel.clock.advance(DAY_SECONDS - 0.001)
    expect(await statusOf(old.key)).toBe(200)
    panel.clock.advance(0.001)
    // No commit in between: time alone ends it.
    expect([await statusOf(old.key), await statusOf(rotated.key)]).toEqual([401, 200])
    await loggedIn()
    expect((await list())[0]).not.toHaveProperty('previous_key')
  })

  test.each([
    ['at once', 0],
    ['in a minute', 60],
    ['in a week', 7 * DAY_SECONDS],
  ])('may end the old secret %s', async (_, grace_seconds) => {
    const old = await create()
    const { data: rotated } = await rotate(old.id, { grace_seconds })
    if (grace_seconds === 0) expect(rotated).not.toHaveProperty('previous_key')
    else {
      expect(await statusOf(old.key)).toBe(200)
      panel.clock.advance(grace_seconds)
    }
    expect([await statusOf(old.key), await statusOf(rotated.key)]).toEqual([401, 200])
  })

  test('never reports an end of the old secret later than that of the key', async () => {
    const { id } = await create({ expires_at: after(DAY_SECONDS) })
    const { data: rotated } = await rotate(id, { grace_seconds: 7 * DAY_SECONDS })
    expect(rotated.previous_key?.valid_until).toBe(after(DAY_SECONDS))
    const { data: changed } = await change(id, { expires_at: after(HOUR_SECONDS) })
    expect(changed.previous_key?.valid_until).toBe(after(HOUR_SECONDS))
  })

  test('again within the grace period ends the oldest secret', async () => {
    const first = await create()
    const second = (await rotate(first.id)).data
    const third = (await rotate(first.id)).data
    expect([await statusOf(first.key), await statusOf(second.key), await statusOf(third.key)]).toEqual([401, 200, 200])
    const last = (await rotate(first.id, { grace_seconds: 0 })).data
    expect([await statusOf(second.key), await statusOf(third.key), await statusOf(last.key)]).toEqual([401, 401, 200])
  })

  test('never lets the old secret outlive the key', async () => {
    const old = await create({ expires_at: after(HOUR_SECONDS) })
    const rotated = (await rotate(old.id)).data
    panel.clock.advance(HOUR_SECONDS)
    expect([await statusOf(old.key), await statusOf(rotated.key)]).toEqual([401, 401])
  })

  test('and deleting it ends both secrets', async () => {
    const old = await create()
    const rotated = (await rotate(old.id)).data
    expect((await panel.delete(`/auth/api-keys/${old.id}`, ada.token)).status).toBe(200)
    expect([await statusOf(old.key), await statusOf(rotated.key)]).toEqual([401, 401])
  })

  test('is reported by email and in the audit log, and never stored in plain text', async () => {
    const old = await create()
    const rotated = (await rotate(old.id)).data
    const emails = await emailsToAda()
    expect(emails.map(({ subject }) => subject)).toEqual(['A new API key was created', 'An API key was rotated'])
    expect(emails[1]?.text).toContain(
      `Begins with: ${rotated.key_prefix}\nThe old secret works until ${spokenTime(after(DAY_SECONDS))}.`,
    )
    const { data } = await panel.get<{ action: string }[]>('/audit-log', ada.token)
    expect(data.map(({ action }) => action).slice(0, 2)).toEqual(['api_key.rotate', 'api_key.create'])
    const stored = JSON.stringify(await panel.services.store.read.select().from(apiKeys))
    for (const { key } of [old, rotated]) expect(stored).not.toContain(key)
  })

  test('asks a user with a second factor for a fresh code, where the setting requires it', async () => {
    const old = await create()
    const code = await enrol()
    const { data } = await rotate(old.id)
    await requireCode()
    expect((await rotate(old.id)).error).toBe('2fa_required')
    expect((await rotate(old.id, { totp_code: '000000' })).error).toBe('invalid_2fa_code')
    expect((await list())[0]?.key_prefix).toBe(data.key_prefix)
    expect((await rotate(old.id, { totp_code: code() })).status).toBe(200)
  })

  test('repeated with its Idempotency-Key rotates once', async () => {
    const old = await create()
    const headers = { 'idempotency-key': 'rotation' }
    const send = () => panel.send('POST', `/auth/api-keys/${old.id}/rotate`, { as: ada.token, body: {}, headers })
    expect((await send()).status).toBe(200)
    expect((await send()).message).toBe(
      'The first of these requests rotated the API key, and only its response showed the new secret: rotate it again',
    )
    expect(await statusOf(old.key)).toBe(200)
  })

  test.each<[object, number, string]>([
    [{ grace_seconds: -1 }, 422, 'grace_seconds: must be from 0 to 604800'],
    [{ grace_seconds: 604_801 }, 422, 'grace_seconds: must be from 0 to 604800'],
    [{ grace_seconds: '0' }, 400, 'grace_seconds: must be an integer'],
    [{ grace: 0 }, 422, 'grace: is not a known field'],
  ])('with %j is refused', async (body, status, message) => {
    const { id } = await create()
    const answer = await rotate(id, body)
    expect([answer.status, answer.message]).toEqual([status, message])
  })

  test('of another user, by a key, without a credential, or of a deleted or expired key is refused', async () => {
    const { id, key } = await create({ expires_at: after(60) })
    const bob = await panel.customer()
    expect((await rotate(id, {}, bob.token)).status).toBe(403)
    expect((await rotate(id, {}, key)).status).toBe(403)
    expect((await panel.post(`/auth/api-keys/${id}/rotate`, undefined, {})).status).toBe(401)
    expect((await rotate(999_999)).status).toBe(404)
    panel.clock.advance(60)
    const late = await rotate(id)
    expect([late.status, late.message]).toEqual([409, 'This API key has expired; create another'])
    expect(await statusOf(key)).toBe(401)
  })
})

describe('changing a key', () => {
  test('renames it, sets an expiry, and removes it again', async () => {
    const { id, key } = await create()
    expect((await change(id, { name: 'Renamed' })).data).toMatchObject({ id, name: 'Renamed', expires_at: null })
    const expires_at = after(60)
    const changed = await change(id, { expires_at })
    expect([changed.message, changed.data]).toEqual(['API key changed', expect.objectContaining({ expires_at })])
    expect((await change(id, { expires_at: null })).data.expires_at).toBeNull()
    panel.clock.advance(60)
    expect(await statusOf(key)).toBe(200)
    expect((await change(id, {})).data).toEqual((await list())[0] as Listed)
  })

  test.each<[object, number, string]>([
    [{ name: '' }, 422, 'name: must be 1 to 100 characters, without control characters'],
    [{ name: null }, 400, 'name: must be a string'],
    [{ expires_at: '2020-01-01T00:00:00Z' }, 422, 'expires_at: must be in the future'],
    [{ expires_at: 'tomorrow' }, 422, TIME_RULE],
    [{ expires_at: '2026-02-30T00:00:00Z' }, 422, TIME_RULE],
    [{ expires_at: 5 }, 400, 'expires_at: must be a string or null'],
    [{ scopes: ['sites:read'] }, 422, 'scopes: is not a known field'],
  ])('to %j is refused', async (body, status, message) => {
    const { id } = await create()
    const answer = await change(id, body)
    expect([answer.status, answer.message]).toEqual([status, message])
  })

  test('to another expiry requires a fresh code where rotating does; renaming does not', async () => {
    const { id } = await create()
    const code = await enrol()
    await requireCode()
    expect((await change(id, { name: 'Renamed' })).status).toBe(200)
    expect((await change(id, { expires_at: after(60) })).error).toBe('2fa_required')
    expect((await change(id, { expires_at: after(60), totp_code: code() })).status).toBe(200)
  })

  test('to another expiry is reported by email, and every change in the audit log', async () => {
    const { id, key_prefix } = await create()
    await change(id, { name: 'Renamed' })
    const expires_at = after(DAY_SECONDS)
    await change(id, { expires_at })
    const [, mail, ...others] = await emailsToAda()
    expect([mail?.subject, others]).toEqual(['The expiry of an API key was changed', []])
    expect(mail?.text).toContain(`Name: "Renamed"\nBegins with: ${key_prefix}\nExpires: ${spokenTime(expires_at)}`)
    const { data } = await panel.get<{ action: string }[]>('/audit-log', ada.token)
    expect(data.map(({ action }) => action).slice(0, 2)).toEqual(['api_key.change', 'api_key.change'])
  })

  test('of another user, by a key, or after it has expired is refused: an ended key stays ended', async () => {
    const { id, key } = await create({ expires_at: after(60) })
    const bob = await panel.customer()
    expect((await change(id, { name: 'Mine' }, bob.token)).status).toBe(403)
    expect((await change(id, { name: 'Mine' }, key)).status).toBe(403)
    expect((await change(999_999, { name: 'Mine' })).status).toBe(404)
    panel.clock.advance(60)
    const late = await change(id, { expires_at: null })
    expect([late.status, late.message]).toEqual([409, 'This API key has expired; create another'])
    expect(await statusOf(key)).toBe(401)
  })
})

describe('the expiry of a key', () => {
  const headersOf = async (key: string) => {
    const { headers } = await panel.get('/auth/me', key)
    return [headers.get('x-api-key-expires'), headers.get('x-api-key-warning')]
  }

  test('is on every response to it, with a warning from fourteen days before', async () => {
    const expires_at = after(20 * DAY_SECONDS)
    const { key } = await create({ expires_at })
    expect(await headersOf(key)).toEqual([expires_at, null])
    panel.clock.advance(6 * DAY_SECONDS - 1)
    expect(await headersOf(key)).toEqual([expires_at, null])
    panel.clock.advance(1)
    const advice = 'give it a new expiry, or replace it'
    expect(await headersOf(key)).toEqual([expires_at, `expires in 14 days: ${advice}`])
    panel.clock.advance(12 * DAY_SECONDS + 1)
    expect(await headersOf(key)).toEqual([expires_at, `expires in 2 days: ${advice}`])
    panel.clock.advance(DAY_SECONDS)
    expect(await headersOf(key)).toEqual([expires_at, `expires in a day or less: ${advice}`])
    // Also where the answer is an error.
    const refused = await panel.get('/admin/users', key)
    expect([refused.status, refused.headers.get('x-api-key-expires')]).toEqual([403, expires_at])
  })

  test('is not on responses to a JWT, or to a key without an expiry', async () => {
    expect(await headersOf(ada.token)).toEqual([null, null])
    expect(await headersOf((await create()).key)).toEqual([null, null])
  })

  test('of a secret that was rotated is the end of its grace period', async () => {
    const old = await create()
    const { data: rotated } = await rotate(old.id)
    expect(await headersOf(old.key)).toEqual([after(DAY_SECONDS), 'expires in a day or less: it was rotated'])
    expect(await headersOf(rotated.key)).toEqual([null, null])
  })
})

describe('an email about the expiry', () => {
  const aboutExpiry = async () => (await emailsToAda()).filter(({ subject }) => subject === 'An API key expires soon')
  const pass = async (seconds: number) => {
    panel.clock.advance(seconds)
    await panel.services.expiryNotices.send()
    return (await aboutExpiry()).length
  }

  test('is sent once after the panel was stopped for the whole last week', async () => {
    await create({ expires_at: after(10 * DAY_SECONDS) })
    expect(await pass(9.5 * DAY_SECONDS)).toBe(1)
    expect(await pass(HOUR_SECONDS)).toBe(1)
  })

  test('is not sent for an expiry this close when it was just chosen, and is sent again after a new expiry', async () => {
    const { id } = await create({ expires_at: after(3 * DAY_SECONDS) })
    expect(await pass(1)).toBe(0)
    expect((await change(id, { expires_at: after(20 * DAY_SECONDS) })).status).toBe(200)
    expect(await pass(13 * DAY_SECONDS)).toBe(1)
    await create({ expires_at: after(HOUR_SECONDS) }).catch(() => undefined)
    expect(await pass(6 * DAY_SECONDS)).toBe(2)
  })

  test('is not sent for a deleted or expired key, or to a disabled user', async () => {
    const [deleted, expired] = [
      await create({ expires_at: after(10 * DAY_SECONDS) }),
      await create({ expires_at: after(60) }),
    ]
    await panel.delete(`/auth/api-keys/${deleted.id}`, ada.token)
    expect(expired.expires_at).not.toBeNull()
    await create({ expires_at: after(30 * DAY_SECONDS) })
    await panel.patch(`/admin/users/${ada.id}`, await panel.admin(), { status: 'disabled' })
    expect(await pass(9 * DAY_SECONDS)).toBe(0)
    expect(await pass(20.5 * DAY_SECONDS)).toBe(0)
  })

  test('is sent seven days and one day before, each once, even across a restart', async () => {
    const expires_at = after(10 * DAY_SECONDS)
    const { key_prefix } = await create({ expires_at })
    expect(await pass(3 * DAY_SECONDS - 1)).toBe(0)
    expect(await pass(1)).toBe(1)
    const [mail] = await aboutExpiry()
    expect(mail?.text).toContain(`Name: "Deploy"\nBegins with: ${key_prefix}\nExpires: ${spokenTime(expires_at)}`)
    expect(mail?.text).toContain('If you still need it, give it a new expiry')
    expect(await pass(HOUR_SECONDS)).toBe(1)
    const at = panel.clock.now()
    await panel.stop()
    panel = await start()
    panel.clock.advance((at - panel.clock.now()) / 1000)
    expect(await pass(HOUR_SECONDS)).toBe(1)
    expect(await pass(6 * DAY_SECONDS - 2 * HOUR_SECONDS)).toBe(2)
    expect(await pass(HOUR_SECONDS)).toBe(2)
    expect(await pass(DAY_SECONDS)).toBe(2)
  })
})
