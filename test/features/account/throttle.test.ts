/** Guessing at one account from many addresses becomes slow, and its owner still gets in. */
import { describe, expect, test } from 'bun:test'
import { availableParallelism } from 'node:os'
import { operator } from '../../../src/core/actor.ts'
import { enrol } from '../../harness/authenticator.ts'
import { failuresOf, setFailures } from '../../harness/database.ts'
import { useMailingPanel } from '../../harness/mailing-panel.ts'
import { type Customer, PASSWORD, startPanel } from '../../harness/panel.ts'

const HOME = '203.0.113.1'
const ELSEWHERE = '198.51.100.7'
const NEW_PASSWORD = 'an altogether different one'
const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

let ada: Customer
const panel = await useMailingPanel()

const login = (from: string, password = PASSWORD, totp_code?: string) =>
  panel.send('POST', '/auth/login', { body: { email: ada.email, password, ...(totp_code && { totp_code }) }, from })
const failures = (door?: string) => failuresOf(panel, ada.id, door)
const changePassword = (as: string, current_password: string, new_password = NEW_PASSWORD) =>
  panel.post('/auth/password', as, { current_password, new_password })

/** A customer who has logged in from home. */
async function newAda(): Promise<void> {
  ada = await panel.customer()
  await login(HOME)
}

/** Sets a new password with the link from a reset email. */
async function resetPassword(from: string, password = NEW_PASSWORD): Promise<void> {
  panel.clock.advance(HOUR)
  await panel.post('/auth/password-reset', undefined, { email: ada.email })
  const texts = (await panel.emailsTo(ada.email)).map(({ text }) => /#token=([\w-]{43})$/m.exec(text)?.[1])
  const body = { token: texts.findLast((token) => token !== undefined), password }
  expect((await panel.send('POST', '/auth/password-reset/confirm', { body, from })).status).toBe(200)
}

describe('an account', () => {
  test('counts failed attempts of every kind, and forgets them at a login', async () => {
    await newAda()
    await login(ELSEWHERE, 'wrong password')
    await login('198.51.100.8', '')
    await login(HOME, 'wrong password')
    expect([failures('strangers'), failures(`address ${HOME}`)]).toEqual([2, 1])
    expect((await login(HOME)).status).toBe(200)
    expect([failures('strangers'), failures(`address ${HOME}`)]).toEqual([2, 0])
    expect((await login(ELSEWHERE)).status).toBe(200)
    expect(failures()).toBe(0)
  })

  test('slows strangers down after ten failures, with the same message and cost as before', async () => {
    await newAda()
    setFailures(panel, ada.id, 9, ['strangers'])
    const before = await login(ELSEWHERE, 'wrong password')
    const hashes = panel.services.passwords.hashed
    const after = await login(ELSEWHERE)
    expect([after.status, after.error, after.message]).toEqual([before.status, before.error, before.message])
    expect(panel.services.passwords.hashed - hashes).toBe(1)
  })

  test('accepts a stranger’s attempt after a minute, the next after two, four and so on', async () => {
    await newAda()
    setFailures(panel, ada.id, 10, ['strangers'])
    for (const minutes of [1, 2, 4, 8, 16, 32, 64, 128, 256]) {
      panel.clock.advance(minutes * MINUTE - 1)
      expect(await panel.services.throttle.admit(ada.id, ELSEWHERE)).toBeUndefined()
      panel.clock.advance(1)
      expect(await panel.services.throttle.admit(ada.id, ELSEWHERE)).toBe('door strangers')
    }
    panel.clock.advance(9 * HOUR)
    expect((await login(ELSEWHERE)).status).toBe(200)
  })

  test('verifies at most 100 attempts of strangers in any 30 days, however many come', async () => {
    await newAda()
    const admitted: number[] = []
    const begun = panel.clock.now()
    for (let i = 0; i < 60 * 24 * 4; i++) {
      const door = await panel.services.throttle.admit(ada.id, `198.51.${i % 250}.${i % 11}`)
      if (door) admitted.push(panel.clock.now())
      panel.clock.advance(15 * MINUTE)
    }
    const inMonthFrom = (start: number) => admitted.filter((at) => at >= start && at < start + 30 * DAY * 1000).length
    expect(Math.max(...admitted.map(inMonthFrom))).toBeLessThanOrEqual(100)
    expect(inMonthFrom(begun)).toBeGreaterThan(80)
    // A narrow door, not a closed one: it admits an attempt every nine hours.
    const waits = admitted.slice(1).map((at, i) => at - (admitted[i] ?? 0))
    expect(Math.max(...waits)).toBeLessThanOrEqual(9.25 * HOUR * 1000)
  })

  test('forgets failures over time: after a week without any, ten are free again', async () => {
    await newAda()
    setFailures(panel, ada.id, 20, ['strangers'])
    panel.clock.advance(7.5 * DAY)
    expect(failures('strangers')).toBe(0)
    for (let i = 0; i < 10; i++) expect(await panel.services.throttle.admit(ada.id, ELSEWHERE)).toBe('door strangers')
    expect(await panel.services.throttle.admit(ada.id, ELSEWHERE)).toBeUndefined()
  })

  test('attacked from a hundred addresses still serves its owner as before', async () => {
    await newAda()
    const attack = Array.from({ length: 101 }, (_, i) => login(`192.0.2.${i}`, 'wrong password'))
    for (const { status } of await Promise.all(attack)) expect(status).toBe(401)
    expect((await login('192.0.2.200')).status).toBe(401)
    expect((await login(HOME)).status).toBe(200)
    expect((await changePassword(ada.token, PASSWORD)).status).toBe(200)
    expect((await login('192.0.2.200', NEW_PASSWORD)).status).toBe(401)
    panel.clock.advance(MINUTE)
    expect((await login('192.0.2.200', NEW_PASSWORD)).status).toBe(200)
  })

  test('is open again to an owner at an unknown address who sets a new password by email', async () => {
    await newAda()
    setFailures(panel, ada.id, 20)
    await resetPassword(ELSEWHERE)
    expect((await login(ELSEWHERE, NEW_PASSWORD)).status).toBe(200)
  })

  test('gives a known address its own allowance, which neighbours sharing it exhaust only for a while', async () => {
    await newAda()
    setFailures(panel, ada.id, 20, ['strangers'])
    setFailures(panel, ada.id, 9, [`address ${HOME}`])
    expect((await login(HOME, 'wrong password')).status).toBe(401)
    expect((await login(HOME)).status).toBe(401)
    panel.clock.advance(MINUTE)
    expect((await login(HOME)).status).toBe(200)
  })

  test('treats a known address with an exhausted allowance like an unknown one', async () => {
    await newAda()
    setFailures(panel, ada.id, 20, [`address ${HOME}`])
    expect((await login(HOME)).status).toBe(200)
    expect(failures()).toBe(0)
  })

  test('forgets an address after 30 days', async () => {
    await newAda()
    panel.clock.advance(31 * DAY)
    setFailures(panel, ada.id, 20, ['strangers'])
    expect((await login(HOME)).status).toBe(401)
  })

  test('is exact even for parallel guesses', async () => {
    await newAda()
    setFailures(panel, ada.id, 5, ['strangers'])
    await Promise.all(Array.from({ length: 10 }, (_, i) => login(`198.51.100.${i}`, 'wrong password')))
    expect(failures('strangers')).toBe(10)
  })

  test('keeps its count across a restart of the panel', async () => {
    await newAda()
    setFailures(panel, ada.id, 20, ['strangers'])
    const again = await startPanel({ data: panel.data })
    try {
      again.clock.advance((panel.clock.now() - again.clock.now()) / 1000)
      const body = { email: ada.email, password: PASSWORD }
      expect((await again.send('POST', '/auth/login', { body, from: ELSEWHERE })).status).toBe(401)
    } finally {
      await again.stop()
    }
  })

  test('is unlocked from the command line', async () => {
    await newAda()
    setFailures(panel, ada.id, 20)
    await panel.services.administration.unlock(operator, ada.id)
    expect((await login(ELSEWHERE)).status).toBe(200)
  })

  test('knows the address it was activated from, so that no stranger can lock a new owner out', async () => {
    const admin = await panel.admin()
    const invited = await panel.post<{ id: number; activation: { token: string } }>('/admin/users', admin, {
      email: 'newcomer@example.com',
      name: 'New',
      role: 'customer',
    })
    ada = { ...ada, id: invited.data.id, email: 'newcomer@example.com' }
    const body = { token: invited.data.activation.token, password: PASSWORD }
    expect((await panel.send('POST', '/auth/password-reset/confirm', { body, from: HOME })).status).toBe(200)
    setFailures(panel, ada.id, 20, ['strangers'])
    expect((await login(ELSEWHERE)).status).toBe(401)
    expect((await login(HOME)).status).toBe(200)
  })

  test('does not count attempts refused unread', async () => {
    await newAda()
    // More than may be hashed and wait at one time.
    const attempts = availableParallelism() + 150
    const { passwords } = panel.services
    const { verify } = passwords
    // None is over before the line is full, however fast hashes are.
    const full = Promise.withResolvers<void>()
    passwords.verify = async (password, line, load) => {
      try {
        return await verify(password, line, async () => {
          await full.promise
          return load()
        })
      } catch (error) {
        full.resolve()
        throw error
      }
    }
    const answers = await Promise.all(Array.from({ length: attempts }, () => login(ELSEWHERE, 'wrong password')))
    passwords.verify = verify
    const away = answers.filter(({ status }) => status === 503)
    expect(away.length).toBeGreaterThan(0)
    for (const { error, headers } of away) {
      expect([error, headers.get('retry-after')]).toEqual(['service unavailable', '2'])
    }
    expect(failures()).toBe(10)
  }, 600_000)

  test('that does not exist costs the same, and its throttle affects no user', async () => {
    await newAda()
    const hashes = panel.services.passwords.hashed
    const body = { email: 'nobody@example.com', password: PASSWORD }
    expect((await panel.send('POST', '/auth/login', { body, from: ELSEWHERE })).status).toBe(401)
    expect(panel.services.passwords.hashed - hashes).toBe(1)
    expect((await login(ELSEWHERE)).status).toBe(200)
  })

  test('is not closed by failures counted while the clock was a year ahead', async () => {
    await newAda()
    panel.clock.advance(365 * DAY)
    setFailures(panel, ada.id, 20, ['strangers'])
    panel.clock.advance(-365 * DAY)
    expect((await login(ELSEWHERE)).status).toBe(200)
  })
})

describe('a session', () => {
  test('has its own allowance: strangers’ failures stop nothing in it, and its own affect no other client', async () => {
    await newAda()
    setFailures(panel, ada.id, 20, ['strangers', 'reset', `address ${HOME}`])
    expect((await panel.post('/auth/2fa/setup', ada.token, { password: PASSWORD })).status).toBe(200)
    for (let i = 0; i < 12; i++) await changePassword(ada.token, 'wrong password')
    const door = `session ${(await panel.get<{ credential: { id: number } }>('/auth/me', ada.token)).data.credential.id}`
    expect(failures(door)).toBe(10)
    // Not even the right one, from a thief.
    expect(await changePassword(ada.token, PASSWORD)).toMatchObject({ status: 401, error: 'invalid credentials' })
    panel.clock.advance(MINUTE)
    expect((await changePassword(ada.token, PASSWORD)).status).toBe(200)
    expect(failures(door)).toBe(0)
  })

  test('starts with a full allowance', async () => {
    await newAda()
    for (let i = 0; i < 10; i++) await changePassword(ada.token, 'wrong password')
    expect((await changePassword(ada.token, PASSWORD)).status).toBe(401)
    expect((await changePassword(await panel.login(ada.email), PASSWORD)).status).toBe(200)
  })
})

describe('a user with two-factor authentication', () => {
  test('gets in after a password reset with the right code, whatever strangers do', async () => {
    await newAda()
    const app = await enrol(panel, ada.token)
    setFailures(panel, ada.id, 20)
    await resetPassword(ELSEWHERE)
    setFailures(panel, ada.id, 20, ['strangers'])
    expect((await login('198.51.100.99', NEW_PASSWORD, app.freshCode())).status).toBe(401)
    setFailures(panel, ada.id, 0, ['reset'])
    expect((await login(ELSEWHERE, NEW_PASSWORD, '000000')).error).toBe('invalid_2fa_code')
    expect((await login(ELSEWHERE, NEW_PASSWORD, app.freshCode())).status).toBe(200)
  })

  test('cannot be guessed at by a thief of the mailbox: all resets share one allowance for codes', async () => {
    await newAda()
    await enrol(panel, ada.token)
    setFailures(panel, ada.id, 20, ['strangers'])
    await resetPassword(ELSEWHERE)
    for (let i = 0; i < 10; i++) expect((await login(ELSEWHERE, NEW_PASSWORD, '000000')).error).toBe('invalid_2fa_code')
    expect((await login(ELSEWHERE, NEW_PASSWORD, '000000')).error).toBe('invalid credentials')
    await resetPassword('198.51.100.98', PASSWORD)
    setFailures(panel, ada.id, 20, ['strangers'])
    const answers: (string | null)[] = []
    for (let i = 0; i < 5; i++) answers.push((await login('198.51.100.98', PASSWORD, '000000')).error)
    expect(answers).toEqual(['invalid_2fa_code', ...Array(4).fill('invalid credentials')])
  })
})

describe('the owner', () => {
  const subjects = async () => {
    await panel.services.throttle.flush()
    return panel.subjectsTo(ada.email)
  }

  test('is told by one email when guessing is slowed down, with what to do, and not again within a week', async () => {
    await newAda()
    await panel.emailsTo(ada.email)
    const sent = panel.smtp.emails.length
    for (let i = 0; i < 9; i++) await panel.services.throttle.admit(ada.id, ELSEWHERE)
    expect(await subjects()).not.toContain('Many failed attempts to log in to your account')
    for (let i = 0; i < 30; i++) await panel.services.throttle.admit(ada.id, ELSEWHERE)
    for (let days = 0; days < 6; days++) {
      panel.clock.advance(DAY)
      for (let i = 0; i < 3; i++) await panel.services.throttle.admit(ada.id, ELSEWHERE)
      await subjects()
    }
    const emails = panel.smtp.emails.slice(sent).filter(({ recipients }) => recipients.includes(ada.email))
    expect(emails.map(({ subject }) => subject)).toEqual(['Many failed attempts to log in to your account'])
    expect(emails[0]?.text.replaceAll('\n', ' ')).toContain('request a new password')
    const { data: log } = await panel.get<object[]>('/audit-log?action=auth.throttle', await panel.login(ada.email))
    expect(log).toMatchObject([{ action: 'auth.throttle', result: 'success' }])
  })

  test('is told of guesses in a session, and how to end it', async () => {
    await newAda()
    for (let i = 0; i < 12; i++) await changePassword(ada.token, 'wrong password')
    const told = 'Many wrong passwords in a session of your account'
    expect(await subjects()).toContain(told)
    const mail = (await panel.emailsTo(ada.email)).find(({ subject }) => subject === told)
    expect(mail?.text.replaceAll('\n', ' ')).toContain('end that session')
  })
})
