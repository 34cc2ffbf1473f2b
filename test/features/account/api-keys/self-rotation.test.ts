/** An API key that rotates itself: a script outlives the end of its key, for as long as the key's maker said and no longer. */
import { beforeEach, describe, expect, test } from 'bun:test'
import { enrol } from '../../../harness/authenticator.ts'
import { spokenTime, useMailingPanel } from '../../../harness/mailing-panel.ts'
import type { Customer } from '../../../harness/panel.ts'

type Created = {
  id: number
  key: string
  key_prefix: string
  expires_at: string | null
  can_rotate?: boolean
  renewable_until?: string
  previous_key?: { key_prefix: string; valid_until: string }
}
type Me = { credential: { can_rotate: boolean; renewable_until: string | null; expires_at: string | null } }

const DAY = 86_400
const MONTH = 30 * DAY
const YEAR = 365 * DAY
const PATH = '/auth/api-keys/self/rotate'
const NO_RIGHT = 'This API key may not rotate itself: it was created without can_rotate'
const OFF =
  'API keys may not rotate themselves here; an administrator can allow it with the setting api_key_self_rotation'

let ada: Customer
const panel = await useMailingPanel()
beforeEach(async () => {
  ada = await panel.customer()
  await allow(true)
})

const after = (seconds: number) => new Date(panel.clock.now() + seconds * 1000).toISOString()
const allow = async (allowed: boolean) =>
  panel.patch('/admin/settings', await panel.admin(), { api_key_self_rotation: allowed })
const create = (body: object = {}, as = ada.token) =>
  panel.post<Created>('/auth/api-keys', as, { name: 'Backup job', expires_at: after(MONTH), ...body })
const renewable = async (body: object = {}) => (await create({ can_rotate: true, ...body })).data
const rotate = (as?: string, headers: Record<string, string> = {}) =>
  panel.send<Created>('POST', PATH, { ...(as !== undefined && { as }), headers })
const me = async (as: string) => (await panel.get<Me>('/auth/me', as)).data.credential
/** Emails of one delivery arrive in any order. */
const emailAbout = async (subject: string) => (await panel.emailsTo(ada.email)).find((mail) => mail.subject === subject)
const statusOf = async (as: string) => (await panel.get('/auth/me', as)).status

describe('creating a key that may rotate itself', () => {
  test('has a limit: a year, unless the request says otherwise', async () => {
    const plain = (await create()).data
    expect([plain.can_rotate, plain.renewable_until]).toEqual([undefined, undefined])
    const key = await renewable()
    expect([key.can_rotate, key.renewable_until]).toEqual([true, after(YEAR)])
    expect((await renewable({ renewable_until: after(2 * YEAR) })).renewable_until).toBe(after(2 * YEAR))
    expect((await renewable({ renewable_until: after(MONTH) })).renewable_until).toBe(after(MONTH))
    const listed = (await panel.get<Created[]>('/auth/api-keys', ada.token)).data.find(({ id }) => id === key.id)
    expect([listed?.can_rotate, listed?.renewable_until]).toEqual([true, after(YEAR)])
  })

  test('is reported by email', async () => {
    await renewable()
    const mail = await emailAbout('A new API key was created')
    expect(mail?.text).toContain(`It may rotate itself until: ${spokenTime(after(YEAR))}`)
  })

  test.each<[message: string, status: number, body: () => object]>([
    ['expires_at: must be given with can_rotate: true', 422, () => ({ can_rotate: true, expires_at: undefined })],
    ['renewable_until: is only allowed with can_rotate: true', 422, () => ({ renewable_until: after(YEAR) })],
    [
      'renewable_until: is only allowed with can_rotate: true',
      422,
      () => ({ can_rotate: false, renewable_until: after(YEAR) }),
    ],
    [
      'renewable_until: must not be before expires_at; it is a year from now when absent',
      422,
      () => ({ can_rotate: true, renewable_until: after(DAY) }),
    ],
    ['renewable_until: must be within 730 days', 422, () => ({ can_rotate: true, renewable_until: after(3 * YEAR) })],
    ['can_rotate: must be a boolean', 400, () => ({ can_rotate: 'yes' })],
    ['renewable_until: must be a string', 400, () => ({ can_rotate: true, renewable_until: 5 })],
  ])('is refused with %j', async (message, status, body) => {
    const answer = await create(body())
    expect([answer.status, answer.message]).toEqual([status, expect.stringContaining(message)])
    expect((await panel.get('/auth/api-keys', ada.token)).data).toEqual([])
  })

  test('with an end beyond that year names the missing field', async () => {
    const answer = await create({ can_rotate: true, expires_at: after(YEAR + DAY) })
    expect([answer.status, answer.message]).toEqual([
      422,
      expect.stringContaining('renewable_until: must not be before'),
    ])
  })

  test('is refused while the setting is off, which is the default', async () => {
    await allow(false)
    const answer = await create({ can_rotate: true })
    expect([answer.status, answer.error, answer.message]).toEqual([403, 'forbidden', `can_rotate: ${OFF}`])
    expect((await create({ can_rotate: false })).status).toBe(201)
  })
})

describe('rotating itself', () => {
  test('returns a new secret and a new end, and the old secret works for a day', async () => {
    const { key, id, key_prefix } = await renewable({ scopes: ['sites:read'] })
    panel.clock.advance(20 * DAY)
    const answer = await rotate(key)
    expect([answer.status, answer.message]).toEqual([200, 'API key rotated'])
    expect(answer.data).toMatchObject({
      id,
      expires_at: after(MONTH),
      scopes: ['sites:read'],
      can_rotate: true,
      renewable_until: after(YEAR - 20 * DAY),
      previous_key: { key_prefix, valid_until: after(DAY) },
    } as object)
    expect(answer.data.key).not.toBe(key)
    panel.clock.advance(DAY - 1)
    expect([await statusOf(key), await statusOf(answer.data.key)]).toEqual([200, 200])
    panel.clock.advance(1)
    expect([await statusOf(key), await statusOf(answer.data.key)]).toEqual([401, 200])
  })

  test('never works beyond renewable_until, however often it is repeated', async () => {
    const until = after(70 * DAY)
    let { key } = await renewable({ renewable_until: until })
    const ends: (string | null)[] = []
    for (let i = 0; i < 3; i++) {
      panel.clock.advance(20 * DAY)
      const { data, status } = await rotate(key)
      expect(status).toBe(200)
      expect(data.renewable_until).toBe(until)
      ends.push(data.expires_at)
      key = data.key
    }
    expect(ends.slice(1)).toEqual([until, until])
    expect(ends[0]).toBe(new Date(Date.parse(until) - 20 * DAY * 1000).toISOString())
    panel.clock.advance(10 * DAY)
    expect([await statusOf(key), (await rotate(key)).status]).toEqual([401, 401])
  })

  test('never lets the old secret live longer than it would have', async () => {
    const { key } = await renewable({ expires_at: after(3600) })
    panel.clock.advance(3000)
    const rotated = await rotate(key)
    expect(rotated.data.previous_key?.valid_until).toBe(after(600))
    expect(rotated.data.expires_at).toBe(after(3600))
    panel.clock.advance(600)
    expect(await statusOf(key)).toBe(401)
    expect((await rotate(rotated.data.key)).status).toBe(200)
  })

  test('with the old secret, or again before that one has ended, is a conflict', async () => {
    const { key } = await renewable()
    const rotated = (await rotate(key)).data
    const old = await rotate(key)
    expect([old.status, old.error, old.message]).toEqual([
      409,
      'conflict',
      'A rotation has already replaced this secret; use the new one',
    ])
    const again = await rotate(rotated.key)
    expect([again.status, again.message]).toEqual([
      409,
      `The secret before this one works until ${after(DAY)}; rotate again after that`,
    ])
    expect([await statusOf(key), await statusOf(rotated.key)]).toEqual([200, 200])
    panel.clock.advance(DAY)
    expect((await rotate(rotated.key)).status).toBe(200)
  })

  test('many times at once succeeds once', async () => {
    const { key } = await renewable()
    const answers = await Promise.all(Array.from({ length: 8 }, () => rotate(key)))
    // The others lose to it in the gate or in the transaction.
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(409)])
  })

  test('is reported by email and in the audit log each time, with its address', async () => {
    const { key, id } = await renewable()
    const { data } = await panel.send<Created>('POST', PATH, { as: key, from: '203.0.113.44' })
    const mail = await emailAbout('An API key rotated itself')
    expect(mail?.text).toContain('from the address 203.0.113.44.')
    expect(mail?.text).toContain(
      `Name: "Backup job"\nBegins with: ${data.key_prefix}\nExpires: ${spokenTime(after(MONTH))}\n`,
    )
    expect(mail?.text.replaceAll('\n', ' ')).toContain(
      `its holder can keep it working until ${spokenTime(after(YEAR))}.`,
    )
    expect(mail?.text).not.toContain(data.key)
    const [entry] = (await panel.get<object[]>('/audit-log?limit=1', ada.token)).data
    expect(entry).toMatchObject({
      action: 'api_key.rotate',
      actor_id: ada.id,
      credential_kind: 'api_key',
      credential_id: id,
      target_id: id,
      details: { key_prefix: data.key_prefix, expires_at: after(MONTH), previous_valid_until: after(DAY) },
    })
  })

  test('repeated with its Idempotency-Key rotates once; another key with the same one rotates too', async () => {
    const [one, other] = [await renewable(), await renewable()]
    const headers = { 'idempotency-key': 'nightly' }
    expect((await rotate(one.key, headers)).status).toBe(200)
    const again = await rotate(one.key, headers)
    expect([again.status, again.message]).toEqual([
      409,
      'The first of these requests rotated the API key, and only its response showed the new secret: log in and rotate the key before this secret expires',
    ])
    const foreign = await rotate(other.key, headers)
    expect([foreign.status, foreign.message]).toEqual([
      409,
      'Idempotency-Key: was used for another request; choose a new one for each',
    ])
    expect((await rotate(other.key, { 'idempotency-key': 'nightly-2' })).status).toBe(200)
  })

  test('is open to a key with scopes, bound to a subscription, from its addresses only', async () => {
    const subscription_id = await panel.subscription(ada.id)
    const limits = { scopes: ['sites:read'], subscription_id, allowed_cidrs: ['203.0.113.7'] }
    const { key } = await renewable(limits)
    const elsewhere = await panel.send('POST', PATH, { as: key, from: '198.51.100.1' })
    expect([elsewhere.status, elsewhere.error]).toEqual([403, 'ip_not_allowed'])
    const answer = await panel.send<Created>('POST', PATH, { as: key, from: '203.0.113.7' })
    expect([answer.status, answer.data]).toEqual([
      200,
      expect.objectContaining({ ...limits, allowed_cidrs: ['203.0.113.7/32'] }),
    ])
  })
})

describe('a key', () => {
  test('without the right cannot, nor can a JWT or a client without a credential', async () => {
    const { key } = (await create()).data
    const answer = await rotate(key)
    expect([answer.status, answer.error, answer.message]).toEqual([403, 'forbidden', NO_RIGHT])
    expect((await rotate()).status).toBe(401)
    expect((await rotate(`ncp_${'0'.repeat(64)}`)).status).toBe(401)
    for (const as of [ada.token, await panel.admin()]) {
      const jwt = await rotate(as)
      expect([jwt.status, jwt.error, jwt.message]).toEqual([
        403,
        'forbidden',
        'Only an API key can do this; send the key itself',
      ])
    }
  })

  test('cannot while the setting is off, and can once it is on again', async () => {
    const { key } = await renewable()
    await allow(false)
    const answer = await rotate(key)
    expect([answer.status, answer.error, answer.message]).toEqual([403, 'forbidden', OFF])
    expect(await me(key)).toMatchObject({ can_rotate: false, renewable_until: after(YEAR) })
    await allow(true)
    expect((await rotate(key)).status).toBe(200)
  })

  test('cannot once its user has set another end by hand', async () => {
    for (const expires_at of [after(DAY), null, after(MONTH)]) {
      const { id, key } = await renewable()
      const changed = await panel.patch<Created>(`/auth/api-keys/${id}`, ada.token, { expires_at })
      expect([changed.data.can_rotate, changed.data.renewable_until]).toEqual([undefined, undefined])
      expect((await rotate(key)).message).toBe(NO_RIGHT)
    }
    const { id, key } = await renewable()
    await panel.patch(`/auth/api-keys/${id}`, ada.token, { name: 'Renamed' })
    expect((await rotate(key)).status).toBe(200)
  })

  test('rotated by its user keeps the right and its end', async () => {
    const { id, expires_at } = await renewable()
    const body = { grace_seconds: 0 }
    const rotated = (await panel.post<Created>(`/auth/api-keys/${id}/rotate`, ada.token, body)).data
    expect([rotated.expires_at, rotated.can_rotate]).toEqual([expires_at, true])
    expect((await rotate(rotated.key)).status).toBe(200)
  })

  test('rotated by its user does not end early because the old secret would have', async () => {
    const { id, key, expires_at } = await renewable({ expires_at: after(3600) })
    const body = { grace_seconds: 7 * DAY }
    const rotated = (await panel.post<Created>(`/auth/api-keys/${id}/rotate`, ada.token, body)).data
    expect(rotated.previous_key?.valid_until).toBe(expires_at as string)
    panel.clock.advance(1800)
    const again = await rotate(rotated.key)
    expect([again.status, again.data?.expires_at]).toEqual([200, after(3600)])
    expect([await statusOf(key), await statusOf(rotated.key)]).toEqual([401, 200])
  })

  test('that is expired or deleted, or whose user is disabled, is 401', async () => {
    const keys = [await renewable({ expires_at: after(60) }), await renewable(), await renewable()]
    const [expired, deleted, disabled] = keys.map(({ key }) => key)
    panel.clock.advance(60)
    await panel.delete(`/auth/api-keys/${keys[1]?.id}`, ada.token)
    expect([(await rotate(expired)).status, (await rotate(deleted)).status]).toEqual([401, 401])
    await panel.patch(`/admin/users/${ada.id}`, await panel.admin(), { status: 'disabled' })
    expect((await rotate(disabled)).status).toBe(401)
  })

  test('cannot give itself the right: it still cannot create or change keys', async () => {
    const { id, key } = await renewable()
    expect((await create({ can_rotate: true }, key)).status).toBe(403)
    expect((await panel.patch(`/auth/api-keys/${id}`, key, { expires_at: null })).status).toBe(403)
    const moved = await panel.patch(`/auth/api-keys/${id}`, ada.token, { renewable_until: after(2 * YEAR) })
    expect([moved.status, moved.message]).toEqual([422, 'renewable_until: is not a known field'])
  })
})

describe('a script', () => {
  test('reads at /auth/me whether its key may rotate itself', async () => {
    const [plain, key] = [(await create()).data.key, (await renewable()).key]
    expect(await me(key)).toMatchObject({ can_rotate: true, renewable_until: after(YEAR), expires_at: after(MONTH) })
    for (const as of [plain, ada.token])
      expect(await me(as)).toMatchObject({ can_rotate: false, renewable_until: null })
    await rotate(key)
    expect(await me(key)).toMatchObject({ can_rotate: false })
  })

  test('sees the endpoint in the expiry warning only where rotating would extend the key', async () => {
    const warningTo = async (as: string) => (await panel.get('/auth/me', as)).headers.get('x-api-key-warning')
    const byHand = 'expires in 10 days: give it a new expiry, or replace it'
    const soon = { expires_at: after(10 * DAY) }
    const { key } = await renewable(soon)
    expect(await warningTo(key)).toBe('expires in 10 days: rotate it with POST /api/v1/auth/api-keys/self/rotate')
    expect(await warningTo((await renewable({ ...soon, renewable_until: after(10 * DAY) })).key)).toBe(byHand)
    expect(await warningTo((await create(soon)).data.key)).toBe(byHand)
    await allow(false)
    expect(await warningTo(key)).toBe(byHand)
  })

  test('of a user with two-factor authentication needs no code, even where creating keys requires one', async () => {
    const { freshCode } = await enrol(panel, ada.token)
    await panel.patch('/admin/settings', await panel.admin(), { require_code_for_api_keys: true })
    expect((await create({ can_rotate: true })).error).toBe('2fa_required')
    const { key } = await renewable({ totp_code: freshCode() })
    await panel.patch('/admin/settings', await panel.admin(), { require_code_for_api_keys: false })
    expect((await rotate(key)).status).toBe(200)
  })
})
