/** Moving an account to another email address, from the request to the login with it. */
import { describe, expect, test } from 'bun:test'
import { operator } from '../../../src/core/actor.ts'
import { useMailingPanel } from '../../harness/mailing-panel.ts'
import { type Customer, PASSWORD, startPanel } from '../../harness/panel.ts'

const LINK = /^https:\/\/panel\.example\.com\/confirm-email#token=([\w-]{43})$/m
const UNKNOWN = 'token: is unknown, expired or already used; ask for a new one'

let mailboxes = 0
const panel = await useMailingPanel()

const newAddress = () => `new${++mailboxes}@example.com`
const request = (as: string | undefined, email: unknown, password: unknown = PASSWORD) =>
  panel.post('/auth/email', as, { email, password })
const confirm = (token: unknown) => panel.post('/auth/email/confirm', undefined, { token })
const login = (email: string) => panel.post('/auth/login', undefined, { email, password: PASSWORD })

/** The token of the newest email to an address. */
async function tokenFor(email: string): Promise<string> {
  const text = (await panel.emailsTo(email)).at(-1)?.text ?? ''
  return LINK.exec(text)?.[1] ?? `no link in: ${text}`
}

/** A customer who has requested another address. */
async function moving(): Promise<Customer & { to: string }> {
  const ada = await panel.customer()
  const to = newAddress()
  expect(await request(ada.token, to)).toMatchObject({
    status: 200,
    message: 'An email is on its way to the new address',
  })
  return { ...ada, to }
}

describe('an account', () => {
  test('moves with the token that was emailed to the new address, and logs in with that', async () => {
    const ada = await moving()
    expect((await login(ada.email)).status).toBe(200)
    expect((await login(ada.to)).status).toBe(401)
    const token = await tokenFor(ada.to)
    expect(await confirm(token)).toMatchObject({ status: 200, data: null })
    expect((await login(ada.email)).status).toBe(401)
    expect((await login(ada.to)).status).toBe(200)
    // The session that asked goes on.
    expect((await panel.get<{ user: object }>('/auth/me', ada.token)).data.user).toMatchObject({ email: ada.to })
  })

  test('is announced to the old address twice, on request and on completion', async () => {
    const ada = await moving()
    expect(await panel.subjectsTo(ada.email)).toEqual(['A new email address was requested'])
    await confirm(await tokenFor(ada.to))
    expect(await panel.subjectsTo(ada.email)).toEqual([
      'A new email address was requested',
      'Your email address was changed',
    ])
    expect((await panel.emailsTo(ada.email)).at(-1)?.text).toContain(`has moved to ${ada.to}`)
    expect(await panel.subjectsTo(ada.to)).toEqual(['Confirm your new address'])
  })

  test('moves once: neither the same token nor an older one works again', async () => {
    const ada = await moving()
    const first = await tokenFor(ada.to)
    panel.clock.advance(60)
    await request(ada.token, ada.to)
    const second = await tokenFor(ada.to)
    expect(await confirm(first)).toMatchObject({ status: 422, message: UNKNOWN })
    const answers = await Promise.all(Array.from({ length: 10 }, () => confirm(second)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(422)])
  })

  test('does not move after ten minutes, after a password change, or while the user is disabled', async () => {
    const late = await moving()
    const lateToken = await tokenFor(late.to)
    panel.clock.advance(600)
    expect(await confirm(lateToken)).toMatchObject({ status: 422, message: UNKNOWN })

    const careful = await moving()
    const carefulToken = await tokenFor(careful.to)
    await panel.services.password.replace(operator, careful, 'set by the operator')
    expect((await confirm(carefulToken)).status).toBe(422)

    const disabled = await moving()
    const disabledToken = await tokenFor(disabled.to)
    await panel.patch(`/admin/users/${disabled.id}`, await panel.admin(), { status: 'disabled' })
    expect((await confirm(disabledToken)).status).toBe(422)
    await panel.patch(`/admin/users/${disabled.id}`, await panel.admin(), { status: 'active' })
    expect((await confirm(disabledToken)).status).toBe(200)
  })

  test('voids the password resets that were emailed to the old address', async () => {
    const ada = await moving()
    await panel.post('/auth/password-reset', undefined, { email: ada.email })
    const texts = (await panel.emailsTo(ada.email)).map(({ text }) => text).join('\n')
    const reset = /reset-password#token=([\w-]{43})/.exec(texts)?.[1] ?? `no link in: ${texts}`
    await confirm(await tokenFor(ada.to))
    const body = { token: reset, password: 'an altogether different one' }
    expect((await panel.post('/auth/password-reset/confirm', undefined, body)).status).toBe(422)
  })

  test('does not move to another user’s address, and the response does not reveal that it is taken', async () => {
    const [ada, bob] = [await panel.customer(), await panel.customer()]
    const answer = await request(ada.token, bob.email.toUpperCase())
    expect([answer.status, answer.message]).toEqual([200, 'An email is on its way to the new address'])
    expect(await panel.subjectsTo(bob.email)).toEqual([])
  })

  test('does not move to an address that another user has taken in between', async () => {
    const [ada, bob] = [await moving(), await panel.customer()]
    const token = await tokenFor(ada.to)
    await panel.services.emailChange.replace(operator, bob.id, ada.to)
    expect(await confirm(token)).toMatchObject({ status: 409, message: 'email: another user has this address' })
    expect((await login(ada.email)).status).toBe(200)
  })

  test('is one of two that move to the same address at once', async () => {
    const [ada, bob] = [await panel.customer(), await panel.customer()]
    const to = newAddress()
    await request(ada.token, to)
    const first = await tokenFor(to)
    await request(bob.token, to)
    const second = await tokenFor(to)
    const answers = await Promise.all([confirm(first), confirm(second)])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
  })
})

describe('a request', () => {
  test('requires the password', async () => {
    const ada = await panel.customer()
    const to = newAddress()
    expect(await request(ada.token, to, 'a wrong one')).toMatchObject({ status: 401, error: 'invalid credentials' })
    expect(await request(ada.token, to, '')).toMatchObject({ status: 401, error: 'invalid credentials' })
    expect(await panel.subjectsTo(to)).toEqual([])
  })

  test('requires a JWT', async () => {
    const ada = await panel.customer()
    expect((await request(undefined, newAddress())).status).toBe(401)
    expect((await request(await panel.key(ada.token), newAddress())).status).toBe(403)
  })

  test('sends emails at growing intervals, whatever the address', async () => {
    const ada = await moving()
    for (const minutes of [1, 2, 4, 8]) {
      panel.clock.advance(minutes * 60 - 1)
      expect(await request(ada.token, newAddress())).toMatchObject({ status: 409, error: 'conflict' })
      panel.clock.advance(1)
      expect((await request(ada.token, newAddress())).status).toBe(200)
    }
  })

  test('works even when the account was last changed while the clock was ahead', async () => {
    const ada = await panel.customer()
    panel.clock.advance(86_000)
    await panel.patch(`/admin/users/${ada.id}`, await panel.admin(), { name: 'From the future' })
    panel.clock.advance(-86_000)
    const email = newAddress()
    expect((await request(ada.token, email)).status).toBe(200)
    expect((await confirm(await tokenFor(email))).status).toBe(200)
  })

  test.each([
    ['nonsense', 422],
    ['', 422],
    ['quac\u212A@example.com', 422],
    ['a@example.com,b@example.com', 422],
    ['a@example.com\r\nBcc: b@example.com', 422],
    [['a@example.com', 'b@example.com'], 400],
    [null, 400],
    [undefined, 400],
  ])('is refused for %j', async (email, status) => {
    const { token } = await panel.customer()
    expect((await request(token, email)).status).toBe(status)
  })

  test('is refused for the current address, in any case', async () => {
    const ada = await panel.customer()
    expect(await request(ada.token, ada.email.toUpperCase())).toMatchObject({
      status: 422,
      message: 'email: must not be the current one',
    })
  })

  test('is refused before the password is checked where no email can be sent', async () => {
    const own = await startPanel()
    const ada = await own.customer()
    const hashes = own.services.passwords.hashed
    const answer = await own.post('/auth/email', ada.token, { email: newAddress(), password: PASSWORD })
    expect([answer.status, answer.error]).toEqual([409, 'conflict'])
    expect(answer.message).toContain('ask the operator')
    expect(own.services.passwords.hashed).toBe(hashes)
    await own.stop()
  })
})

test.each([['made-up'], [''], ['x'.repeat(128)]])('the token %j is refused', async (token) => {
  expect(await confirm(token)).toMatchObject({ status: 422, error: 'validation error', message: UNKNOWN })
})
