/** What a user is notified of by email, and at which address. */
import { describe, expect, test } from 'bun:test'
import { TOTP } from 'otpauth'
import { operator } from '../../../src/core/actor.ts'
import { spokenTime, useMailingPanel } from '../../harness/mailing-panel.ts'
import { type Customer, PASSWORD } from '../../harness/panel.ts'

const NEW_PASSWORD = 'an altogether different one'
const DAY_SECONDS = 86_400

const panel = await useMailingPanel()

const emailsTo = ({ email }: { email: string }) => panel.emailsTo(email)
const subjectsTo = ({ email }: { email: string }) => panel.subjectsTo(email)

const codeOf = (secret: string) => new TOTP({ secret }).generate({ timestamp: panel.clock.now() })
async function enrol({ token }: Customer): Promise<string> {
  const { secret } = (await panel.post<{ secret: string }>('/auth/2fa/setup', token, { password: PASSWORD })).data
  expect((await panel.post('/auth/2fa/enable', token, { totp_code: codeOf(secret) })).status).toBe(200)
  panel.clock.advance(30)
  return secret
}

describe('a notice', () => {
  test('is short, and says what happened to which account, when, from where and what to do', async () => {
    const ada = await panel.customer()
    const time = spokenTime(panel.clock.now())
    const body = { current_password: PASSWORD, new_password: NEW_PASSWORD }
    expect((await panel.post('/auth/password', ada.token, body)).status).toBe(200)
    const [mail] = await emailsTo(ada)
    expect(mail?.recipients).toEqual([ada.email])
    expect(mail?.subject).toBe('Your password was set')
    expect(mail?.text.split('\n')).toEqual([
      'A new password was set for your account.',
      '',
      `Account: ${ada.email}`,
      `Time: ${time}`,
      '',
      'If this was you, there is nothing to do. If not, change your password, or request a new one, and tell the operator.',
      '',
      '-- ',
      'panel.example.com, https://panel.example.com',
      '',
    ])
  })

  test('reports a password reset, and a password set on the command line', async () => {
    const ada = await panel.customer()
    await panel.post('/auth/password-reset', undefined, { email: ada.email })
    const token = /#token=(\S+)/.exec((await emailsTo(ada))[0]?.text ?? '')?.[1]
    await panel.post('/auth/password-reset/confirm', undefined, { token, password: NEW_PASSWORD })
    expect(await subjectsTo(ada)).toEqual(['Set a new password', 'Your password was set'])
    await panel.services.password.replace(operator, ada, 'set by the operator')
    expect(await subjectsTo(ada)).toHaveLength(3)
    expect(await panel.login(ada.email, 'set by the operator')).toBeString()
  })

  test('reports two-factor authentication going on and off', async () => {
    const ada = await panel.customer()
    const secret = await enrol(ada)
    const proof = { password: PASSWORD, totp_code: codeOf(secret) }
    expect((await panel.post('/auth/2fa/disable', ada.token, proof)).status).toBe(200)
    await enrol(ada)
    await panel.services.twoFactor.reset(operator, ada.id)
    const events = (await emailsTo(ada)).map(({ text }) => text.split('\n')[0])
    expect(events).toEqual([
      'Two-factor authentication was switched on for your account.',
      'Two-factor authentication was switched off for your account.',
      'Two-factor authentication was switched on for your account.',
      'The operator switched two-factor authentication off for your account.',
    ])
  })

  test('of an operator’s action says so, instead of asking whether it was the user', async () => {
    const ada = await panel.customer()
    await enrol(ada)
    await panel.services.password.replace(operator, ada, 'set by the operator')
    await panel.services.apiKeys.createFor(operator, ada.id, { name: 'Made on the server' })
    await panel.services.twoFactor.reset(operator, ada.id)
    await panel.services.emailChange.replace(operator, ada.id, 'moved@example.com')
    const subjects = [
      'Your password was set',
      'A new API key was created',
      'Two-factor authentication is off',
      'Your email address was changed',
    ]
    const emails = (await emailsTo(ada)).filter(({ subject }) => subject !== 'Two-factor authentication is on')
    expect(emails.map(({ subject }) => subject).sort()).toEqual(subjects.sort())
    for (const { text } of emails) {
      expect(text).toContain('The operator of the panel did this. If you did not expect it, contact the operator.')
      expect(text).not.toContain('If this was you')
    }
  })

  test('of a reset of two-factor authentication is not sent to a user who had none', async () => {
    const ada = await panel.customer()
    expect(await panel.services.twoFactor.reset(operator, ada.id)).toBe(false)
    expect(await emailsTo(ada)).toEqual([])
    expect((await panel.get('/auth/me', ada.token)).status).toBe(200)
  })

  test('reports a used recovery code, and how many are left', async () => {
    const ada = await panel.customer()
    const { secret } = (await panel.post<{ secret: string }>('/auth/2fa/setup', ada.token, { password: PASSWORD })).data
    const enabled = await panel.post<{ recovery_codes: string[] }>('/auth/2fa/enable', ada.token, {
      totp_code: codeOf(secret),
    })
    const body = { email: ada.email, password: PASSWORD, totp_code: enabled.data.recovery_codes[0] }
    expect((await panel.post('/auth/login', undefined, body)).status).toBe(200)
    const mail = (await emailsTo(ada)).find(({ subject }) => subject === 'A recovery code was used')
    expect(mail?.text).toContain('Recovery codes left: 9.')
    // The same one again is no use of it.
    await panel.post('/auth/login', undefined, body)
    expect((await subjectsTo(ada)).filter((subject) => subject === 'A recovery code was used')).toHaveLength(1)
  })

  test('reports a new API key, and never contains the key', async () => {
    const ada = await panel.customer()
    const expiresAt = new Date(panel.clock.now() + 60_000).toISOString()
    const keys = [
      await panel.key(ada.token, { name: 'Deploy script', expires_at: expiresAt }),
      await panel.key(ada.token, { name: 'Forever' }),
    ]
    const [first, second] = await emailsTo(ada)
    expect(first?.subject).toBe('A new API key was created')
    expect(first?.text).toContain(
      `Name: "Deploy script"\nBegins with: ${keys[0]?.slice(0, 20)}\nExpires: ${spokenTime(expiresAt)}\n`,
    )
    expect(second?.text).toContain('Expires: never\n')
    for (const key of keys) expect(panel.smtp.emails.filter(({ text }) => text.includes(key))).toEqual([])
  })

  test.each([
    ['{{7*7}} <%= 7*7 %> <b>', '"{{7*7}} <%= 7*7 %> <b>"'],
    ['x" Time: never', '"x\\" Time: never"'],
    ['\u{200f}gnp.exe', '"\\u{200f}gnp.exe"'],
    ['Schlüssel 鍵 🔑', '"Schlüssel 鍵 🔑"'],
  ])('has the name %j of a key as it is, on one line and in quotes', async (name, quoted) => {
    const ada = await panel.customer()
    await panel.key(ada.token, { name })
    const [mail] = await emailsTo(ada)
    expect(mail?.text.split('\n')[1]).toBe(`Name: ${quoted}`)
    expect(mail?.subject).toBe('A new API key was created')
  })

  test('is not sent for a change that failed', async () => {
    const ada = await panel.customer()
    await panel.post('/auth/password', ada.token, { current_password: 'wrong', new_password: NEW_PASSWORD })
    await panel.post('/auth/2fa/setup', ada.token, { password: PASSWORD })
    await panel.post('/auth/2fa/enable', ada.token, { totp_code: '000000' })
    await panel.post('/auth/api-keys', ada.token, { name: 'Old', expires_at: '2020-01-01T00:00:00Z' })
    expect(await emailsTo(ada)).toEqual([])
  })
})

describe('a login', () => {
  const from = (user: Customer, address: string, password = PASSWORD) =>
    panel.send('POST', '/auth/login', { body: { email: user.email, password }, from: address })

  test('from a new address sends a notice that names it, once', async () => {
    const ada = await panel.customer()
    expect(await emailsTo(ada)).toEqual([])
    expect((await from(ada, '203.0.113.5')).status).toBe(200)
    expect((await from(ada, '203.0.113.5')).status).toBe(200)
    const [mail, ...others] = await emailsTo(ada)
    expect(others).toEqual([])
    expect(mail?.subject).toBe('Login from a new address')
    expect(mail?.text).toContain('from 203.0.113.5, an address')
  })

  test('that fails sends none', async () => {
    const ada = await panel.customer()
    expect((await from(ada, '203.0.113.6', 'wrong password')).status).toBe(401)
    expect(await emailsTo(ada)).toEqual([])
  })

  test('from another address of the same IPv6 network sends none', async () => {
    const ada = await panel.customer()
    await from(ada, '2001:db8::1')
    await from(ada, '2001:db8::2')
    expect(await subjectsTo(ada)).toHaveLength(1)
  })

  test('after a long time sends one again, from any address', async () => {
    const ada = await panel.customer()
    panel.clock.advance(31 * DAY_SECONDS)
    expect(await panel.login(ada.email)).toBeString()
    expect(await subjectsTo(ada)).toEqual(['Login from a new address'])
  })

  test('sends one even from an address where a stolen JWT was used with the password before', async () => {
    const ada = await panel.customer()
    const body = { password: PASSWORD }
    const stolen = await panel.send('POST', '/auth/2fa/setup', { as: ada.token, body, from: '203.0.113.7' })
    expect(stolen.status).toBe(200)
    await from(ada, '203.0.113.7')
    expect(await subjectsTo(ada)).toEqual(['Login from a new address'])
  })
})

test('a user with very many notices is told so, and then gets few more', async () => {
  const ada = await panel.customer()
  const { data } = await panel.post<{ id: number }>('/auth/api-keys', ada.token, { name: 'Noisy' })
  const rotate = () => panel.post(`/auth/api-keys/${data.id}/rotate`, ada.token, { grace_seconds: 0 })
  for (let count = 0; count < 230; count++) expect((await rotate()).status).toBe(200)
  const emails = await panel.subjectsTo(ada.email)
  expect(emails.length).toBeLessThanOrEqual(202)
  const summary = emails.filter((subject) => subject === 'Many changes to your account')
  expect(summary).toHaveLength(1)
  // Later there is room for what happens then.
  panel.clock.advance(60 * 60)
  expect((await rotate()).status).toBe(200)
  expect((await panel.subjectsTo(ada.email)).at(-1)).toBe('An API key was rotated')
})
