/** How an administrator helps, over the API, a user who is locked out or whose key leaked: audited, with an email to the user. */
import { beforeEach, describe, expect, test } from 'bun:test'
import { enrol } from '../../../harness/authenticator.ts'
import { failuresOf, setFailures } from '../../../harness/database.ts'
import { type MailingPanel, useMailingPanel } from '../../../harness/mailing-panel.ts'
import { type Customer, PASSWORD } from '../../../harness/panel.ts'

type Entry = { action: string; actor_id: number; account_id: number; target_id: number; details: object }
type Key = { id: number; name: string; key_prefix: string }
type Row = { id: number }

const BY_ADMINISTRATOR = 'An administrator of the panel did this.'
const NO_KEY = 'An API key cannot do this; log in and use the JWT'

let boss: Customer
let ada: Customer
const panel = await useMailingPanel()
beforeEach(async () => {
  boss = await panel.customer('admin')
  ada = await panel.customer()
})

const newest = async () => (await panel.get<Entry[]>('/admin/audit-log?limit=1', boss.token)).data[0]
/** Emails of one delivery arrive in any order. */
const emailAbout = async (subject: string) => (await panel.emailsTo(ada.email)).find((mail) => mail.subject === subject)
const keysOf = (id: number, as = boss.token) => panel.get<Key[]>(`/admin/users/${id}/api-keys`, as)
const isTwoFactorOn = async (id: number) =>
  (await panel.get<{ two_factor_enabled: boolean }>(`/admin/users/${id}`, boss.token)).data.two_factor_enabled
const emailOf = async (id: number) => (await panel.get<{ email: string }>(`/admin/users/${id}`, boss.token)).data.email
let moved = 0
const newEmail = () => `moved${++moved}@example.net`

describe('the API keys of a user', () => {
  test('are listed as their user sees them, without a secret', async () => {
    const key = await panel.key(ada.token, { name: 'Deploy', scopes: ['sites:read'] })
    const own = await panel.get<Key[]>('/auth/api-keys', ada.token)
    const listed = await keysOf(ada.id)
    expect([listed.status, listed.data]).toEqual([200, own.data])
    expect(JSON.stringify(listed.data)).not.toContain(key)
    await panel.key(ada.token, { name: 'Second' })
    const paged = await panel.get<Key[]>(`/admin/users/${ada.id}/api-keys?limit=1`, boss.token)
    expect([paged.data.map(({ name }) => name), paged.headers.get('link')]).toEqual([
      ['Deploy'],
      expect.stringContaining('rel="next"'),
    ])
  })

  test('are revoked one by one: at the next request, in the audit log, and with an email', async () => {
    const key = await panel.key(ada.token, { name: 'Got out' })
    const kept = await panel.key(ada.token, { name: 'Kept' })
    const [{ id, key_prefix } = { id: 0, key_prefix: '' }] = (await keysOf(ada.id)).data
    const answer = await panel.delete(`/admin/users/${ada.id}/api-keys/${id}`, boss.token)
    expect([answer.status, answer.data, answer.message]).toEqual([200, null, 'API key revoked'])
    expect((await panel.get('/auth/me', key)).status).toBe(401)
    expect((await panel.get('/auth/me', kept)).status).toBe(200)
    expect(await newest()).toMatchObject({
      action: 'api_key.delete',
      actor_id: boss.id,
      account_id: ada.id,
      target_id: id,
      details: { name: 'Got out', key_prefix },
    })
    const mail = await emailAbout('An API key was deleted')
    expect(mail?.text).toContain(`Name: "Got out"\nBegins with: ${key_prefix}\n`)
    expect(mail?.text).toContain(BY_ADMINISTRATOR)
    expect((await panel.delete(`/admin/users/${ada.id}/api-keys/${id}`, boss.token)).status).toBe(404)
  })

  test('are looked up together with the user, so another user’s key is not found', async () => {
    const bob = await panel.customer()
    const key = await panel.key(ada.token)
    const [{ id } = { id: 0 }] = (await keysOf(ada.id)).data
    const answer = await panel.delete(`/admin/users/${bob.id}/api-keys/${id}`, boss.token)
    expect([answer.status, answer.message]).toEqual([404, 'The user has no such API key'])
    expect((await panel.get('/auth/me', key)).status).toBe(200)
  })

  test.each([
    ['/admin/users/999999/api-keys', 404, 'No such user'],
    ['/admin/users/abc/api-keys', 400, 'id: must be an integer'],
    ['/admin/users/1/api-keys?limit=0', 422, 'limit: must be from 1 to 1000'],
  ])('%s is %i', async (path, status, message) => {
    const answer = await panel.get(path, boss.token)
    expect([answer.status, answer.message]).toEqual([status, message])
  })

  test.each([
    ['/admin/users/999999/api-keys/1', 404, 'No such user'],
    ['/admin/users/1/api-keys/abc', 400, 'key_id: must be an integer'],
  ])('DELETE %s is %i', async (path, status, message) => {
    const answer = await panel.delete(path, boss.token)
    expect([answer.status, answer.message]).toEqual([status, message])
  })

  test('are revoked by a key with users:write, except an administrator’s', async () => {
    const scoped = await panel.key(boss.token, { scopes: ['users:read', 'users:write'] })
    for (const user of [ada, boss]) await panel.key(user.token)
    const [{ id: adas } = { id: 0 }] = (await keysOf(ada.id, scoped)).data
    expect((await panel.delete(`/admin/users/${ada.id}/api-keys/${adas}`, scoped)).status).toBe(200)
    const [{ id } = { id: 0 }] = (await keysOf(boss.id, scoped)).data
    const answer = await panel.delete(`/admin/users/${boss.id}/api-keys/${id}`, scoped)
    expect([answer.status, answer.message]).toEqual([
      403,
      'An API key with scopes may not revoke a key of an administrator: use one without scopes, or log in',
    ])
    const readOnly = await panel.key(boss.token, { scopes: ['users:read'] })
    expect((await panel.delete(`/admin/users/${ada.id}/api-keys/1`, readOnly)).error).toBe('scope_missing')
  })
})

type Act = (id: number, as: string | undefined, proof?: object) => ReturnType<MailingPanel['post']>
const acts: [name: string, act: Act, isDone: (id: number, before: string) => Promise<boolean>][] = [
  [
    'moving a user to another email address',
    (id, as, proof = { password: PASSWORD }) =>
      panel.post(`/admin/users/${id}/email`, as, { email: newEmail(), ...proof }),
    async (id, before) => (await emailOf(id)) !== before,
  ],
  [
    'resetting the second factor of a user',
    (id, as, proof = { password: PASSWORD }) => panel.post(`/admin/users/${id}/2fa/reset`, as, proof),
    async (id) => !(await isTwoFactorOn(id)),
  ],
]

describe.each(acts)('%s', (_, act, isDone) => {
  beforeEach(async () => {
    await enrol(panel, ada.token)
  })

  test('requires the administrator’s password, and counts a wrong one against the administrator', async () => {
    const wrong = await act(ada.id, boss.token, { password: 'wrong' })
    expect([wrong.status, wrong.error]).toEqual([401, 'invalid credentials'])
    expect([await isDone(ada.id, ada.email), failuresOf(panel, boss.id), failuresOf(panel, ada.id)]).toEqual([
      false,
      1,
      0,
    ])
    expect((await act(ada.id, boss.token)).status).toBe(200)
    expect([await isDone(ada.id, ada.email), failuresOf(panel, boss.id)]).toEqual([true, 0])
  })

  test('requires a code from an administrator with a second factor, and accepts each once', async () => {
    const { freshCode } = await enrol(panel, boss.token)
    expect((await act(ada.id, boss.token)).error).toBe('2fa_required')
    const wrong = await act(ada.id, boss.token, { password: PASSWORD, totp_code: '000000' })
    expect(wrong.error).toBe('invalid_2fa_code')
    expect(await isDone(ada.id, ada.email)).toBe(false)
    const totp_code = freshCode()
    expect((await act(ada.id, boss.token, { password: PASSWORD, totp_code })).status).toBe(200)
    const bob = await panel.customer()
    await enrol(panel, bob.token)
    expect((await act(bob.id, boss.token, { password: PASSWORD, totp_code })).error).toBe('invalid_2fa_code')
  })

  test('requires a JWT: no API key proves a password, whatever its scopes', async () => {
    for (const as of [await panel.key(boss.token), await panel.key(boss.token, { scopes: ['users:write'] })]) {
      const answer = await act(ada.id, as)
      expect([answer.status, answer.error, answer.message]).toEqual([403, 'forbidden', NO_KEY])
    }
    expect(await isDone(ada.id, ada.email)).toBe(false)
  })

  test('is for administrators only', async () => {
    const bob = await panel.customer()
    expect((await act(ada.id, undefined)).status).toBe(401)
    for (const as of [bob.token, ada.token, await panel.key(bob.token)]) {
      const answer = await act(ada.id, as)
      expect([answer.status, answer.message]).toEqual([403, 'Only an administrator may do this'])
    }
    expect(await isDone(ada.id, ada.email)).toBe(false)
  })

  test('of an unknown user is 404 and counts no attempt', async () => {
    const answer = await act(999_999, boss.token)
    expect([answer.status, answer.message, failuresOf(panel, boss.id)]).toEqual([404, 'No such user', 0])
    expect((await act('abc' as never, boss.token)).status).toBe(400)
  })

  test.each<[object, number, string]>([
    [{}, 400, 'password: is required'],
    [{ password: 5 }, 400, 'password: must be a string'],
    [{ password: PASSWORD, code: '123456' }, 422, 'code: is not a known field'],
  ])('with %j is refused', async (proof, status, message) => {
    const answer = await act(ada.id, boss.token, proof)
    expect([answer.status, answer.message]).toEqual([status, message])
    expect(await isDone(ada.id, ada.email)).toBe(false)
  })
})

describe('a user who lost the mailbox', () => {
  test('is moved at once; the old address is notified, tokens sent there are void, sessions and keys stay', async () => {
    await panel.post('/auth/password-reset', undefined, { email: ada.email })
    const token = /#token=(\S+)/.exec((await emailAbout('Set a new password'))?.text ?? '')?.[1]
    const key = await panel.key(ada.token)
    const email = newEmail()
    const answer = await panel.post(`/admin/users/${ada.id}/email`, boss.token, {
      email: email.toUpperCase(),
      password: PASSWORD,
    })
    expect([answer.status, answer.data, answer.message]).toEqual([200, null, 'Email address changed'])
    expect(await newest()).toMatchObject({
      action: 'auth.email_change',
      actor_id: boss.id,
      account_id: ada.id,
      details: { email },
    })
    const mail = await emailAbout('Your email address was changed')
    expect(mail?.text).toContain(`moved to ${email}.`)
    expect(mail?.text).toContain(BY_ADMINISTRATOR)
    const confirm = { token, password: 'an altogether different one' }
    expect((await panel.post('/auth/password-reset/confirm', undefined, confirm)).status).toBe(422)
    for (const as of [ada.token, key]) expect((await panel.get('/auth/me', as)).status).toBe(200)
    expect(await panel.login(email)).toBeString()
  })

  test.each<[() => Promise<string> | string, number, string]>([
    [() => ada.email, 422, 'email: must not be the current one'],
    [() => boss.email, 409, 'email: another user has this address'],
  ])('is not moved to an address in use', async (email, status, message) => {
    const body = { email: await email(), password: PASSWORD }
    const answer = await panel.post(`/admin/users/${ada.id}/email`, boss.token, body)
    expect([answer.status, answer.message, failuresOf(panel, boss.id)]).toEqual([status, message, 0])
    expect(await emailOf(ada.id)).toBe(ada.email)
  })

  test('is not moved to an invalid address', async () => {
    const answer = await panel.post(`/admin/users/${ada.id}/email`, boss.token, { email: 'ada', password: PASSWORD })
    expect([answer.status, answer.message]).toEqual([422, expect.stringContaining('email: must be an email address')])
  })
})

describe('a user who lost the second factor', () => {
  test('logs in with only the password after a reset, which ends the sessions and leaves the keys', async () => {
    await enrol(panel, ada.token)
    const key = await panel.key(ada.token)
    const answer = await panel.post(`/admin/users/${ada.id}/2fa/reset`, boss.token, { password: PASSWORD })
    expect([answer.status, answer.data, answer.message]).toEqual([200, null, 'Two-factor authentication switched off'])
    expect((await panel.get('/auth/me', ada.token)).status).toBe(401)
    expect((await panel.get('/auth/me', key)).status).toBe(200)
    expect(await panel.login(ada.email)).toBeString()
    const mail = await emailAbout('Two-factor authentication is off')
    expect(mail?.text).toStartWith('An administrator switched two-factor authentication off for your account.')
    expect(mail?.text).toContain(BY_ADMINISTRATOR)
    const entries = await panel.get<Entry[]>('/admin/audit-log?action=auth.two_factor_reset', boss.token)
    expect(entries.data[0]).toMatchObject({ actor_id: boss.id, account_id: ada.id, target_id: ada.id })
  })

  test('who never had one is a conflict: nothing is emailed and no attempt counted', async () => {
    const answer = await panel.post(`/admin/users/${ada.id}/2fa/reset`, boss.token, { password: PASSWORD })
    expect([answer.status, answer.message]).toEqual([409, 'Two-factor authentication is off'])
    expect([await panel.emailsTo(ada.email), failuresOf(panel, boss.id)]).toEqual([[], 0])
    expect((await panel.get('/auth/me', ada.token)).status).toBe(200)
  })
})

describe('a throttled user', () => {
  const unlock = (id: number | string, as: string | undefined) => panel.post(`/admin/users/${id}/unlock`, as)
  const loginFrom = async (address: string) => {
    const body = { email: ada.email, password: PASSWORD }
    return (await panel.send('POST', '/auth/login', { body, from: address })).status
  }

  test('is shown with the failed attempts, and the time of the next one', async () => {
    const state = async (id: number | string, as = boss.token) => panel.get(`/admin/users/${id}/throttle`, as)
    expect((await state(ada.id)).data).toEqual({ failed_attempts: 0, next_attempt_at: null })
    const wrong = { email: ada.email, password: 'wrong' }
    await panel.send('POST', '/auth/login', { body: wrong, from: '203.0.113.80' })
    expect((await state(ada.id)).data).toEqual({ failed_attempts: 1, next_attempt_at: null })
    setFailures(panel, ada.id, 10, ['strangers'])
    const next_attempt_at = new Date(panel.clock.now() + 60_000).toISOString()
    expect((await state(ada.id)).data).toEqual({ failed_attempts: 10, next_attempt_at })
    panel.clock.advance(60)
    expect((await state(ada.id)).data).toEqual({ failed_attempts: 10, next_attempt_at: null })
    await unlock(ada.id, boss.token)
    expect((await state(ada.id)).data).toEqual({ failed_attempts: 0, next_attempt_at: null })
    expect([(await state(999_999)).status, (await state('abc')).status]).toEqual([404, 400])
    const customerKey = await panel.key(ada.token)
    for (const as of [ada.token, customerKey]) expect((await state(ada.id, as)).status).toBe(403)
    expect((await panel.get(`/admin/users/${ada.id}/throttle`)).status).toBe(401)
    const scoped = (scope: string) => panel.key(boss.token, { scopes: [scope] })
    expect((await state(ada.id, await scoped('users:read'))).status).toBe(200)
    expect((await state(ada.id, await scoped('sites:read'))).error).toBe('scope_missing')
  })

  test('is unlocked by an administrator, audited and notified', async () => {
    setFailures(panel, ada.id, 100, ['strangers'])
    expect(await loginFrom('203.0.113.80')).toBe(401)
    const answer = await unlock(ada.id, boss.token)
    expect([answer.status, answer.data, answer.message]).toEqual([200, null, 'User unlocked'])
    expect(await newest()).toMatchObject({ action: 'auth.unlock', actor_id: boss.id, account_id: ada.id })
    const mail = await emailAbout('Your account was unlocked')
    expect(mail?.text).toContain(BY_ADMINISTRATOR)
    expect(await loginFrom('203.0.113.80')).toBe(200)
  })

  test('is unlocked by a key with users:write, except an administrator: it would buy a guesser all attempts', async () => {
    const scoped = await panel.key(boss.token, { scopes: ['users:write'] })
    expect((await unlock(ada.id, scoped)).status).toBe(200)
    setFailures(panel, boss.id, 100, ['strangers'])
    const answer = await unlock(boss.id, scoped)
    expect([answer.status, answer.message]).toEqual([
      403,
      'An API key with scopes may not unlock an administrator: use one without scopes, or log in',
    ])
    expect(failuresOf(panel, boss.id, 'strangers')).toBe(100)
  })

  test('is unlocked by no other caller, and an unknown one is 404', async () => {
    setFailures(panel, ada.id, 100, ['strangers'])
    expect((await unlock(ada.id, undefined)).status).toBe(401)
    for (const as of [ada.token, await panel.key(ada.token)]) expect((await unlock(ada.id, as)).status).toBe(403)
    const readOnly = await panel.key(boss.token, { scopes: ['users:read'] })
    expect((await unlock(ada.id, readOnly)).error).toBe('scope_missing')
    expect(failuresOf(panel, ada.id, 'strangers')).toBe(100)
    expect([(await unlock(999_999, boss.token)).status, (await unlock('abc', boss.token)).status]).toEqual([404, 400])
  })
})

describe('a subscription', () => {
  const remove = (id: number | string, query = '', as: string | null = boss.token, headers = {}) =>
    panel.send('DELETE', `/admin/subscriptions/${id}${query}`, { ...(as !== null && { as }), headers })
  const createSite = async (domain: string) => (await panel.post<Row>('/sites', ada.token, { domain })).data.id

  test('is deleted, audited and reported, and another one becomes the default', async () => {
    const [first, second] = [await panel.subscription(ada.id, { name: 'First' }), await panel.subscription(ada.id)]
    const answer = await remove(first)
    expect([answer.status, answer.data, answer.message]).toEqual([200, null, 'Subscription deleted'])
    const { data } = await panel.get<{ id: number; is_default: boolean }[]>('/subscriptions', ada.token)
    expect(data).toMatchObject([{ id: second, is_default: true }])
    expect(await newest()).toMatchObject({
      action: 'subscription.delete',
      actor_id: boss.id,
      account_id: ada.id,
      target_id: first,
      details: { name: 'First', sites: 0, api_keys: 0 },
    })
    const mail = await emailAbout('A subscription was deleted')
    expect(mail?.text).toContain(BY_ADMINISTRATOR)
    expect(mail?.text).toContain('Name: "First"\nSites deleted with it: 0\n')
    expect((await remove(first)).status).toBe(404)
    expect((await remove(second)).status).toBe(200)
    expect((await panel.get('/sites', ada.token)).status).toBe(404)
  })

  test('with sites stays, and goes with them only on request', async () => {
    const id = await panel.subscription(ada.id)
    const [one, two] = [await createSite(`a${id}.example`), await createSite(`b${id}.example`)]
    const bound = await panel.key(ada.token, { subscription_id: id })
    for (const query of ['', '?delete_sites=false']) {
      const answer = await remove(id, query)
      expect([answer.status, answer.error, answer.message]).toEqual([
        409,
        'conflict',
        'The subscription has 2 sites, which would be deleted with it: delete them first, or send delete_sites=true',
      ])
    }
    expect((await panel.get(`/sites/${one}`, bound)).status).toBe(200)
    expect((await remove(id, '?delete_sites=true')).status).toBe(200)
    for (const site of [one, two]) expect((await panel.get(`/sites/${site}`, boss.token)).status).toBe(404)
    expect((await panel.get('/auth/me', bound)).status).toBe(401)
    expect((await newest())?.details).toMatchObject({ sites: 2, api_keys: 1 })
    // Their domains are free again.
    await panel.subscription(ada.id)
    expect(await createSite(`a${id}.example`)).toBeNumber()
  })

  test('with one site says so in the singular', async () => {
    const id = await panel.subscription(ada.id)
    await createSite(`only${id}.example`)
    expect((await remove(id)).message).toStartWith('The subscription has a site, which would be deleted with it')
  })

  test('that has changed since it was read stays', async () => {
    const id = await panel.subscription(ada.id)
    const { headers } = await panel.get(`/admin/subscriptions/${id}`, boss.token)
    const etag = headers.get('etag') ?? ''
    await panel.patch(`/admin/subscriptions/${id}`, boss.token, { name: 'Renamed' })
    expect((await remove(id, '', boss.token, { 'if-match': etag })).status).toBe(412)
    expect((await panel.get(`/admin/subscriptions/${id}`, boss.token)).status).toBe(200)
  })

  test('is deleted by a key with subscriptions:write; its sites require sites:write too', async () => {
    const id = await panel.subscription(ada.id)
    await createSite(`scoped${id}.example`)
    const key = (scopes: string[]) => panel.key(boss.token, { scopes })
    const alone = await key(['subscriptions:write'])
    expect((await remove(id, '', await key(['sites:write']))).error).toBe('scope_missing')
    const refused = await remove(id, '?delete_sites=true', alone)
    expect([refused.error, refused.message]).toEqual(['scope_missing', 'This API key lacks the scope sites:write'])
    expect((await remove(id, '', alone)).status).toBe(409)
    expect((await remove(id, '?delete_sites=true', await key(['subscriptions:write', 'sites:write']))).status).toBe(200)
    expect((await remove(await panel.subscription(ada.id), '', alone)).status).toBe(200)
  })

  test('is deleted neither by a customer nor without a credential', async () => {
    const id = await panel.subscription(ada.id)
    expect((await remove(id, '', null)).status).toBe(401)
    for (const as of [ada.token, await panel.key(ada.token)]) expect((await remove(id, '', as)).status).toBe(403)
    expect((await panel.get(`/subscriptions/${id}`, ada.token)).status).toBe(200)
  })

  test.each([
    ['999999', 404, 'No such subscription'],
    ['abc', 400, 'id: must be an integer'],
    ['1?delete_sites=yes', 422, 'delete_sites: must be one of true, false'],
    ['1?sites=true', 422, 'sites: is not a known field'],
  ])('%s is %i', async (id, status, message) => {
    const answer = await remove(id)
    expect([answer.status, answer.message]).toEqual([status, message])
  })
})
