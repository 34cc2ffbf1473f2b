/** Two-factor authentication, from enrolment to the recovery code. */
import { describe, expect, test } from 'bun:test'
import { TOTP } from 'otpauth'
import { type Answer, type Customer, PASSWORD, usePanel } from '../../harness/panel.ts'

const panel = await usePanel()

type Setup = { secret: string; otpauth_uri: string; qr_svg: string }
type Enrolled = Customer & { secret: string; recoveryCodes: string[] }

/** The code of an authenticator app, `steps` of 30 seconds away from now. */
const codeOf = (secret: string, steps = 0) =>
  new TOTP({ secret }).generate({ timestamp: panel.clock.now() + steps * 30_000 })

const setUp = (token: string, password = PASSWORD) => panel.post<Setup>('/auth/2fa/setup', token, { password })
const enable = (token: string, totp_code: string) =>
  panel.post<{ recovery_codes: string[] }>('/auth/2fa/enable', token, { totp_code })
const login = (email: string, totp_code?: string, password = PASSWORD) =>
  panel.post<{ token: string }>('/auth/login', undefined, {
    email,
    password,
    ...(totp_code !== undefined && { totp_code }),
  })

/** Moves the clock to so many seconds after the next step's beginning. */
function atSecond(second: number): void {
  panel.clock.advance(30 - (Math.floor(panel.clock.now() / 1000) % 30) + second)
}

/** A customer with 2FA on, whose enrolment code is already behind. */
async function enrolled(): Promise<Enrolled> {
  const customer = await panel.customer()
  const { secret } = (await setUp(customer.token)).data
  const { recovery_codes } = (await enable(customer.token, codeOf(secret))).data
  panel.clock.advance(60)
  return { ...customer, secret, recoveryCodes: recovery_codes }
}

describe('enrolment', () => {
  test('returns the seed as text, URI and QR code, and is off until it is confirmed', async () => {
    const ada = await panel.customer()
    const answer = await setUp(ada.token)
    expect(answer.status).toBe(200)
    expect(answer.data.secret).toMatch(/^[A-Z2-7]{32}$/)
    const uri = new URL(answer.data.otpauth_uri)
    expect([uri.protocol, uri.host, decodeURIComponent(uri.pathname)]).toEqual([
      'otpauth:',
      'totp',
      `/ncp:${ada.email}`,
    ])
    expect(uri.searchParams.get('secret')).toBe(answer.data.secret)
    expect(answer.data.qr_svg).toStartWith('<svg')
    expect((await login(ada.email)).status).toBe(200)
  })

  test('is confirmed with a code and returns ten recovery codes', async () => {
    const ada = await panel.customer()
    const other = await panel.login(ada.email)
    const { secret } = (await setUp(ada.token)).data
    const answer = await enable(ada.token, codeOf(secret))
    expect([answer.status, answer.message]).toEqual([200, 'Two-factor authentication enabled'])
    expect(new Set(answer.data.recovery_codes).size).toBe(10)
    expect((await panel.get('/auth/me', ada.token)).status).toBe(200)
    expect((await panel.get('/auth/me', other)).status).toBe(401)
    expect((await login(ada.email)).error).toBe('2fa_required')
  })

  test('refuses a wrong code and stays off', async () => {
    const ada = await panel.customer()
    await setUp(ada.token)
    const answer = await enable(ada.token, '000000')
    expect([answer.status, answer.error]).toEqual([401, 'invalid_2fa_code'])
    expect((await login(ada.email)).status).toBe(200)
  })

  test('requires the password, and a setup before it is enabled', async () => {
    const ada = await panel.customer()
    expect((await setUp(ada.token, 'wrong password')).error).toBe('invalid credentials')
    const answer = await enable(ada.token, '123456')
    expect([answer.status, answer.error]).toEqual([409, 'conflict'])
  })

  test('started twice accepts only the newer seed', async () => {
    const ada = await panel.customer()
    const first = (await setUp(ada.token)).data.secret
    const second = (await setUp(ada.token)).data.secret
    expect(second).not.toBe(first)
    expect((await enable(ada.token, codeOf(first))).status).toBe(401)
    expect((await enable(ada.token, codeOf(second))).status).toBe(200)
  })

  test('cannot be started again while it is on', async () => {
    const ada = await enrolled()
    const token = await panel.login(ada.email, PASSWORD, codeOf(ada.secret))
    expect((await setUp(token)).status).toBe(409)
  })

  test('keeps the seed encrypted and the recovery codes hashed', async () => {
    const ada = await enrolled()
    const files = ['ncp.db', 'ncp.db-wal'].map((name) => Bun.file(`${panel.data}/${name}`).text())
    const bytes = (await Promise.all(files)).join('')
    expect(bytes).toContain(ada.email)
    for (const secret of [ada.secret, ...ada.recoveryCodes]) {
      expect(bytes).not.toContain(secret)
      expect(bytes).not.toContain(secret.replaceAll('-', ''))
    }
  })
})

describe('login with 2FA on', () => {
  test('without a code returns the contract’s response', async () => {
    const ada = await enrolled()
    for (const code of [undefined, '']) {
      const { status, data, error, message }: Answer = await login(ada.email, code)
      expect({ status, data, error, message }).toEqual({
        status: 401,
        data: null,
        error: '2fa_required',
        message: 'Two-factor authentication code required',
      })
    }
  })

  test('does not reveal that a code is required before the password was right', async () => {
    const ada = await enrolled()
    expect((await login(ada.email, undefined, 'wrong password')).error).toBe('invalid credentials')
    expect((await login(ada.email, codeOf(ada.secret), 'wrong password')).error).toBe('invalid credentials')
  })

  test('accepts the codes of the current and the previous step, and no others', async () => {
    for (const [steps, status] of [
      [0, 200],
      [-1, 200],
      [-2, 401],
      [1, 401],
    ] as const) {
      const ada = await enrolled()
      atSecond(10)
      expect((await login(ada.email, codeOf(ada.secret, steps))).status).toBe(status)
    }
  })

  test('accepts the next code five seconds early, for a phone that is ahead, and not again in its own step', async () => {
    const ada = await enrolled()
    atSecond(24)
    const next = codeOf(ada.secret, 1)
    expect((await login(ada.email, next)).error).toBe('invalid_2fa_code')
    const bob = await enrolled()
    atSecond(26)
    const early = codeOf(bob.secret, 1)
    expect((await login(bob.email, early)).status).toBe(200)
    panel.clock.advance(5)
    expect((await login(bob.email, early)).error).toBe('invalid_2fa_code')
  })

  test.each([
    [(code: string) => `${code.slice(0, 3)} ${code.slice(3)}`],
    [(code: string) => `${code.slice(0, 3)}-${code.slice(3)}`],
    [(code: string) => ` ${code}\u{a0}`],
  ])('accepts a code as apps show it: %p', async (spell) => {
    const ada = await enrolled()
    expect((await login(ada.email, spell(codeOf(ada.secret)))).status).toBe(200)
  })

  test('says after the right password only that the code is for another time', async () => {
    const ada = await enrolled()
    atSecond(10)
    const hint = expect.stringContaining('set the clock of your phone to automatic')
    for (const steps of [-10, -2, 2, 10]) {
      const answer = await login(ada.email, codeOf(ada.secret, steps))
      expect(answer).toMatchObject({ status: 401, error: 'invalid_2fa_code', message: hint })
    }
    expect((await login(ada.email, codeOf(ada.secret, 20))).message).not.toContain('clock')
    expect((await login(ada.email, codeOf(ada.secret, 2), 'wrong password')).error).toBe('invalid credentials')
  })

  test('refuses a code in its own step after reporting it as early: a guesser learns nothing', async () => {
    const ada = await enrolled()
    atSecond(10)
    const later = codeOf(ada.secret, 3)
    expect((await login(ada.email, later)).status).toBe(401)
    panel.clock.advance(90)
    expect((await login(ada.email, later)).error).toBe('invalid_2fa_code')
    panel.clock.advance(30)
    expect((await login(ada.email, codeOf(ada.secret))).status).toBe(200)
  })

  test('accepts codes again after the clock was ahead and has been corrected', async () => {
    const ada = await enrolled()
    panel.clock.jump(365 * 86_400)
    expect((await login(ada.email, codeOf(ada.secret))).status).toBe(200)
    panel.clock.jump(-365 * 86_400)
    const code = codeOf(ada.secret)
    expect((await login(ada.email, code)).status).toBe(200)
    expect((await login(ada.email, code)).error).toBe('invalid_2fa_code')
  })

  test('accepts a code once, and no older one after it', async () => {
    const ada = await enrolled()
    const [now, before] = [codeOf(ada.secret), codeOf(ada.secret, -1)]
    expect((await login(ada.email, now)).status).toBe(200)
    for (const code of [now, before]) {
      const answer = await login(ada.email, code)
      expect([answer.status, answer.error]).toEqual([401, 'invalid_2fa_code'])
    }
  })

  test('accepts a code once, even in ten parallel requests', async () => {
    const ada = await enrolled()
    const code = codeOf(ada.secret)
    const answers = await Promise.all(Array.from({ length: 10 }, () => login(ada.email, code)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  })

  test.each(['000000', '12345', '1234567', '١٢٣٤٥٦', '123456 ', ' 123456', 'abcdef', '-12345'])(
    'refuses the code %j',
    async (code) => {
      const ada = await enrolled()
      const answer: Answer = await login(ada.email, code)
      expect([answer.status, answer.error, answer.data]).toEqual([401, 'invalid_2fa_code', null])
    },
  )

  test('accepts a recovery code in place of a code, once, in any case and spacing', async () => {
    const ada = await enrolled()
    const [first = '', second = ''] = ada.recoveryCodes
    expect((await login(ada.email, first)).status).toBe(200)
    expect((await login(ada.email, first)).error).toBe('invalid_2fa_code')
    expect((await login(ada.email, second.toLowerCase().replaceAll('-', ' '))).status).toBe(200)
  })

  test('accepts a recovery code once, even in ten parallel requests', async () => {
    const ada = await enrolled()
    const code = ada.recoveryCodes[0] ?? ''
    const answers = await Promise.all(Array.from({ length: 10 }, () => login(ada.email, code)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  })

  test('refuses another user’s recovery code', async () => {
    const [ada, bob] = [await enrolled(), await enrolled()]
    expect((await login(ada.email, bob.recoveryCodes[0])).error).toBe('invalid_2fa_code')
  })

  test('fails, and never falls back to one factor, when the seed was tampered with', async () => {
    const [ada, bob] = [await enrolled(), await enrolled()]
    // Bob's sealed seed in Ada's row: it opens in the row that it was sealed for, and nowhere else.
    const { totpSecret } = await panel.services.users.get(bob.id)
    const { Database } = await import('bun:sqlite')
    using database = new Database(`${panel.data}/ncp.db`)
    database.query('UPDATE users SET totp_secret = ? WHERE id = ?').run(totpSecret, ada.id)
    const answer: Answer = await login(ada.email, codeOf(bob.secret))
    expect([answer.status, answer.data]).toEqual([500, null])
  })
})

describe('disabling', () => {
  test('requires password and code, and then one factor is enough', async () => {
    const ada = await enrolled()
    const token = await panel.login(ada.email, PASSWORD, codeOf(ada.secret))
    panel.clock.advance(30)
    const disable = (body: object) => panel.post('/auth/2fa/disable', token, body)
    expect((await disable({ password: 'wrong password', totp_code: codeOf(ada.secret) })).error).toBe(
      'invalid credentials',
    )
    expect((await disable({ password: PASSWORD, totp_code: '000000' })).error).toBe('invalid_2fa_code')
    expect((await disable({ password: PASSWORD })).message).toBe('totp_code: is required')
    expect((await disable({ password: PASSWORD, totp_code: codeOf(ada.secret) })).status).toBe(200)
    expect((await login(ada.email)).status).toBe(200)
    expect((await disable({ password: PASSWORD, totp_code: codeOf(ada.secret) })).status).toBe(409)
  })

  test('and enrolling again returns another seed, and voids the old recovery codes', async () => {
    const ada = await enrolled()
    const token = await panel.login(ada.email, PASSWORD, ada.recoveryCodes[0])
    await panel.post('/auth/2fa/disable', token, { password: PASSWORD, totp_code: codeOf(ada.secret) })
    const { secret } = (await setUp(token)).data
    expect(secret).not.toBe(ada.secret)
    expect((await enable(token, codeOf(secret))).status).toBe(200)
    expect((await login(ada.email, ada.recoveryCodes[1])).error).toBe('invalid_2fa_code')
  })
})

describe('new recovery codes', () => {
  test('replace the old ones', async () => {
    const ada = await enrolled()
    const token = await panel.login(ada.email, PASSWORD, codeOf(ada.secret))
    panel.clock.advance(30)
    const answer = await panel.post<{ recovery_codes: string[] }>('/auth/2fa/recovery-codes', token, {
      password: PASSWORD,
      totp_code: codeOf(ada.secret),
    })
    expect(answer.status).toBe(200)
    expect((await login(ada.email, ada.recoveryCodes[0])).error).toBe('invalid_2fa_code')
    expect((await login(ada.email, answer.data.recovery_codes[0])).status).toBe(200)
  })

  test('are 409 without 2FA', async () => {
    const ada = await panel.customer()
    const body = { password: PASSWORD, totp_code: '123456' }
    expect((await panel.post('/auth/2fa/recovery-codes', ada.token, body)).status).toBe(409)
  })
})

test.each(['setup', 'enable', 'disable', 'recovery-codes'])(
  '/auth/2fa/%s requires a JWT before it looks at the body',
  async (step) => {
    const ada = await panel.customer()
    const path = `/auth/2fa/${step}`
    expect((await panel.send('POST', path, { rawBody: '{' })).status).toBe(401)
    expect((await panel.send('POST', path, { as: await panel.key(ada.token), rawBody: '{' })).status).toBe(403)
    expect((await panel.send('POST', path, { as: ada.token, rawBody: '{' })).status).toBe(400)
    expect((await panel.post(path, ada.token, { unknown: 1 })).status).toBe(400)
  },
)
