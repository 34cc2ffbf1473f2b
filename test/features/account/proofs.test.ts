/** Two things at once at one account: what an attacker has begun must not outlive what its owner does against it. */
import { describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { operator } from '../../../src/core/actor.ts'
import { users as userTable } from '../../../src/db/tables.ts'
import { callerFor } from '../../harness/actors.ts'
import { enrol } from '../../harness/authenticator.ts'
import { failuresOf, setFailures } from '../../harness/database.ts'
import { useMailingPanel } from '../../harness/mailing-panel.ts'
import { type Customer, PASSWORD } from '../../harness/panel.ts'

const NEW_PASSWORD = 'an altogether different one'

const panel = await useMailingPanel()

const login = (email: string, password: string, totp_code?: string, from?: string) =>
  panel.send('POST', '/auth/login', {
    body: { email, password, ...(totp_code !== undefined && { totp_code }) },
    ...(from !== undefined && { from }),
  })

/** Has a reset mailed and sets the password with it, a minute later than whatever was before. */
async function resetPassword({ email }: Customer, password: string, from = '203.0.113.1'): Promise<number> {
  panel.clock.advance(60)
  await panel.post('/auth/password-reset', undefined, { email })
  const texts = (await panel.emailsTo(email)).map(({ text }) => text)
  const token = texts.flatMap((text) => /reset-password#token=([\w-]{43})/.exec(text)?.[1] ?? []).at(-1)
  return (await panel.send('POST', '/auth/password-reset/confirm', { body: { token, password }, from })).status
}

async function mailedEmailToken(address: string): Promise<string> {
  const texts = (await panel.emailsTo(address)).map(({ text }) => text).join('\n')
  return /confirm-email#token=([\w-]{43})/.exec(texts)?.[1] ?? `no link in: ${texts}`
}
const confirmEmail = (token: string) => panel.post('/auth/email/confirm', undefined, { token })

/** As if its session had been ended while the password was being hashed: none has the id 0. */
describe('an action begun in a session that has since ended', () => {
  type Begun = (caller: ReturnType<typeof callerFor>) => Promise<unknown>
  test.each<[string, Begun]>([
    [
      'a new email address',
      (caller) =>
        panel.services.emailChange.request(caller, {
          email: 'thief@example.com',
          password: PASSWORD,
          totpCode: undefined,
        }),
    ],
    [
      'a new password',
      (caller) =>
        panel.services.password.change(caller, {
          currentPassword: PASSWORD,
          newPassword: NEW_PASSWORD,
          totpCode: undefined,
        }),
    ],
    ['an enrolment', (caller) => panel.services.twoFactor.setUp(caller, PASSWORD)],
    ['an API key', (caller) => panel.services.apiKeys.create(caller, { name: 'Thief', totpCode: undefined })],
  ])('is not completed: %s', async (_, begun) => {
    const ada = await panel.customer()
    await expect(begun(callerFor(ada.id))).rejects.toMatchObject({ code: 'not_authenticated' })
    expect((await login(ada.email, PASSWORD)).status).toBe(200)
    expect((await panel.get<unknown[]>('/auth/api-keys', ada.token)).data).toEqual([])
    expect(await panel.subjectsTo('thief@example.com')).toEqual([])
  })

  test('is not completed: disabling two-factor authentication', async () => {
    const ada = await panel.customer()
    const { freshCode } = await enrol(panel, ada.token)
    const proof = { password: PASSWORD, code: freshCode() }
    const disable = panel.services.twoFactor.disable(callerFor(ada.id), proof)
    await expect(disable).rejects.toMatchObject({ code: 'not_authenticated' })
    expect((await login(ada.email, PASSWORD)).error).toBe('2fa_required')
  })

  test('loses against a reset running at the same time, whichever is first', async () => {
    for (let round = 0; round < 10; round++) {
      const ada = await panel.customer()
      const to = `race${round}@example.com`
      const body = { email: to, password: PASSWORD }
      const [reset] = await Promise.all([resetPassword(ada, NEW_PASSWORD), panel.post('/auth/email', ada.token, body)])
      expect(reset).toBe(200)
      expect((await confirmEmail(await mailedEmailToken(to))).status).toBe(422)
    }
  })
})

describe('a mailbox', () => {
  test('buys few guesses at the second factor: a reset forgets no failures of a user with 2FA', async () => {
    const ada = await panel.customer()
    const { freshCode } = await enrol(panel, ada.token)
    setFailures(panel, ada.id, 20)
    setFailures(panel, ada.id, 9, ['reset'])
    expect(await resetPassword(ada, NEW_PASSWORD, '198.51.100.9')).toBe(200)
    expect(failuresOf(panel, ada.id, 'reset')).toBe(9)
    expect(failuresOf(panel, ada.id, 'strangers')).toBe(20)
    expect((await login(ada.email, NEW_PASSWORD, '000000', '198.51.100.9')).error).toBe('invalid_2fa_code')
    expect((await login(ada.email, NEW_PASSWORD, freshCode(), '198.51.100.9')).status).toBe(401)
  })

  test('still opens the account of a user without 2FA', async () => {
    const ada = await panel.customer()
    setFailures(panel, ada.id, 20)
    expect(await resetPassword(ada, NEW_PASSWORD, '198.51.100.9')).toBe(200)
    expect((await login(ada.email, NEW_PASSWORD, undefined, '198.51.100.9')).status).toBe(200)
  })

  test('that was replaced by the operator has no access left', async () => {
    // Its emails wait, or the first could be sent before the second takes its place.
    panel.smtp.behave('refuse')
    const body = { email: 'typo@example.net', name: 'New', role: 'admin' }
    const { id } = (await panel.post<{ id: number }>('/admin/users', await panel.admin(), body)).data
    const waiting = await panel.post<{ token: string }>(`/admin/users/${id}/activation`, await panel.admin())
    await panel.services.outbox.deliver()
    panel.smtp.behave('accept')
    await panel.services.emailChange.replace(operator, id, 'right@example.net')
    // When it would have been tried again.
    panel.clock.advance(60)
    expect(await panel.subjectsTo('typo@example.net')).toEqual(['Your email address was changed'])
    const confirm = { token: waiting.data.token, password: NEW_PASSWORD }
    expect((await panel.post('/auth/password-reset/confirm', undefined, confirm)).status).toBe(422)
  })

  test('of another person gets one email a minute, whatever else is requested in between', async () => {
    const ada = await panel.customer()
    const ask = (password: string) => panel.post('/auth/email', ada.token, { email: 'flooded@example.com', password })
    expect((await ask(PASSWORD)).status).toBe(200)
    const change = { current_password: PASSWORD, new_password: NEW_PASSWORD }
    expect((await panel.post('/auth/password', ada.token, change)).status).toBe(200)
    expect((await ask(NEW_PASSWORD)).status).toBe(409)
    expect((await confirmEmail(await mailedEmailToken('flooded@example.com'))).status).toBe(422)
  })
})

describe('a pending email change', () => {
  test.each<[string, (ada: Customer) => Promise<unknown>]>([
    ['a second factor', (ada) => enrol(panel, ada.token)],
    [
      'being disabled and enabled',
      async ({ id }) => {
        await panel.patch(`/admin/users/${id}`, await panel.admin(), { status: 'disabled' })
        await panel.patch(`/admin/users/${id}`, await panel.admin(), { status: 'active' })
      },
    ],
  ])('is void after %s', async (what, happens) => {
    const ada = await panel.customer()
    const to = `${what.replaceAll(' ', '-')}@example.com`
    expect((await panel.post('/auth/email', ada.token, { email: to, password: PASSWORD })).status).toBe(200)
    const token = await mailedEmailToken(to)
    panel.clock.advance(1)
    await happens(ada)
    expect((await confirmEmail(token)).status).toBe(422)
  })
})

describe('a pending seed', () => {
  const enable = (token: string, totp_code: string) => panel.post('/auth/2fa/enable', token, { totp_code })

  test('cannot be guessed: wrong codes count, and after too many even a right one is refused', async () => {
    const ada = await panel.customer()
    await panel.post('/auth/2fa/setup', ada.token, { password: PASSWORD })
    expect((await enable(ada.token, '000000')).error).toBe('invalid_2fa_code')
    expect(failuresOf(panel, ada.id)).toBe(1)
    setFailures(panel, ada.id, 20)
    await expect(enrol(panel, ada.token)).rejects.toThrow()
  })

  test('is gone after ten minutes, or with the password it was set up under', async () => {
    const ada = await panel.customer()
    await panel.post('/auth/2fa/setup', ada.token, { password: PASSWORD })
    panel.clock.advance(600)
    expect(await enable(ada.token, '000000')).toMatchObject({ status: 409, error: 'conflict' })

    await panel.post('/auth/2fa/setup', ada.token, { password: PASSWORD })
    const change = { current_password: PASSWORD, new_password: NEW_PASSWORD }
    await panel.post('/auth/password', ada.token, change)
    expect((await enable(ada.token, '000000')).status).toBe(409)
  })
})

test('a token sets no password for a user disabled while the password was being hashed', async () => {
  const body = { email: 'late@example.com', name: 'Late', role: 'customer' }
  const { data } = await panel.post<{ id: number; activation: { token: string } }>(
    '/admin/users',
    await panel.admin(),
    body,
  )
  const { passwords, users } = panel.services
  const { hash } = passwords
  passwords.hash = async (password) => {
    await users.change(operator, data.id, { status: 'disabled' })
    return hash(password)
  }
  try {
    const confirm = { token: data.activation.token, password: NEW_PASSWORD }
    const answer = await panel.post('/auth/password-reset/confirm', undefined, confirm)
    expect([answer.status, answer.error]).toEqual([422, 'validation error'])
  } finally {
    passwords.hash = hash
  }
  const [stored] = await panel.services.store.read.select().from(userTable).where(eq(userTable.id, data.id))
  expect(stored?.passwordHash).toBeNull()
})

test('a right password does not count as a failed attempt when only the account’s state forbids the action', async () => {
  const ada = await panel.customer()
  await panel.post('/auth/email', ada.token, { email: ada.email, password: PASSWORD })
  await panel.post('/auth/2fa/disable', ada.token, { password: PASSWORD, totp_code: '123456' })
  await panel.post('/auth/2fa/recovery-codes', ada.token, { password: PASSWORD, totp_code: '123456' })
  await enrol(panel, ada.token)
  await panel.post('/auth/2fa/setup', ada.token, { password: PASSWORD })
  expect(failuresOf(panel, ada.id)).toBe(0)
})
