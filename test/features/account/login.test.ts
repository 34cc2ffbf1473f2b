/** Login, logout, and what a JWT is worth. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { operator } from '../../../src/core/actor.ts'
import { type Customer, PASSWORD, startPanel, usePanel } from '../../harness/panel.ts'

let ada: Customer
const panel = await usePanel({ hasRealHashes: true })
beforeAll(async () => {
  ada = await panel.customer()
})

const login = (body: unknown, headers: Record<string, string> = {}) =>
  panel.send('POST', '/auth/login', { body, headers })

test('an email with surrounding blanks is the same everywhere', async () => {
  const own = await startPanel()
  try {
    const ada = await own.customer()
    const email = ` ${ada.email.toUpperCase()}\u{a0}\t`
    expect((await own.post('/auth/login', undefined, { email, password: PASSWORD })).status).toBe(200)
    expect((await own.post('/auth/password-reset', undefined, { email })).status).toBe(200)
    const body = { email: '  Blank@Example.com ', name: 'Blank', role: 'customer' }
    const made = await own.post<{ email: string }>('/admin/users', await own.admin(), body)
    expect([made.status, made.data.email]).toEqual([201, 'blank@example.com'])
    const found = await own.get<object[]>(
      `/admin/users?email=${encodeURIComponent(' blank@example.com ')}`,
      await own.admin(),
    )
    expect(found.data).toMatchObject([{ email: 'blank@example.com' }])
    expect((await own.post('/auth/login', undefined, { email: 'a b@example.com', password: PASSWORD })).status).toBe(
      422,
    )
  } finally {
    await own.stop()
  }
})

describe('a clock that was ahead for a moment', () => {
  test('ends no session, voids no activation and forgets no address', async () => {
    const ahead = await startPanel()
    try {
      ahead.clock.advance(2 * 3600)
      const ada = await ahead.customer()
      const body = { email: 'invited@example.com', name: 'New', role: 'customer' }
      const { data } = await ahead.post<{ activation: { token: string } }>('/admin/users', await ahead.admin(), body)
      ahead.clock.jump(365 * 86_400)
      await ahead.login(ada.email)
      await ahead.post('/auth/password-reset', undefined, { email: ada.email })
      await ahead.services.passwordReset.flush()
      ahead.clock.jump(-365 * 86_400)
      expect((await ahead.get('/auth/me', ada.token)).status).toBe(200)
      const redeem = { token: data.activation.token, password: PASSWORD }
      expect((await ahead.post('/auth/password-reset/confirm', undefined, redeem)).status).toBe(200)
    } finally {
      await ahead.stop()
    }
  })
})

describe('login', () => {
  test('returns a JWT and the user, exactly as the contract says', async () => {
    const answer = await login({ email: ada.email, password: PASSWORD })
    expect(answer.status).toBe(200)
    expect(answer.message).toBe('Login successful')
    expect(answer.data).toEqual({
      token: expect.any(String),
      user: { id: ada.id, email: ada.email, name: expect.any(String), role: 'customer' },
    })
  })

  test('accepts the email in any case', async () => {
    expect((await login({ email: ada.email.toUpperCase(), password: PASSWORD })).status).toBe(200)
  })

  test('treats composed and decomposed characters of a password alike', async () => {
    const bob = await panel.customer()
    const changed = await panel.post('/auth/password', bob.token, {
      current_password: PASSWORD,
      new_password: 'caf\u00e9 au lait',
    })
    expect(changed.status).toBe(200)
    expect((await login({ email: bob.email, password: 'cafe\u0301 au lait' })).status).toBe(200)
  })

  test('answers an unknown email, a wrong and an empty password, a disabled and an inactivated user alike', async () => {
    const admin = await panel.admin()
    const disabled = await panel.customer()
    await panel.patch(`/admin/users/${disabled.id}`, admin, { status: 'disabled' })
    await panel.post('/admin/users', admin, { email: 'new@example.com', name: 'New', role: 'customer' })
    const attempts = [
      { email: 'nobody@example.com', password: PASSWORD },
      { email: ada.email, password: 'wrong password' },
      { email: ada.email, password: '' },
      { email: disabled.email, password: PASSWORD },
      { email: 'new@example.com', password: PASSWORD },
      { email: 'new@example.com', password: '' },
    ]
    for (const attempt of attempts) {
      const hashesBefore = panel.services.passwords.hashed
      const { status, data, error, message, headers } = await login(attempt)
      expect({ status, data, error, message }).toEqual({
        status: 401,
        data: null,
        error: 'invalid credentials',
        message: 'Unknown email or wrong password',
      })
      expect(headers.get('www-authenticate')).toBe('Bearer realm="ncp"')
      // The same work for each, counted rather than timed.
      expect(panel.services.passwords.hashed - hashesBefore).toBe(1)
    }
  })

  test.each([
    [{}, 400, 'email: is required; password: is required'],
    [{ email: 'ada@example.com' }, 400, 'password: is required'],
    [{ email: ['ada@example.com'], password: 'x' }, 400, 'email: must be a string'],
    [{ email: 'ada@example.com', password: { $ne: 1 } }, 400, 'password: must be a string'],
    [{ email: 'ada@example.com', password: 'x', totp_code: 123456 }, 400, 'totp_code: must be a string'],
    [{ email: 'ada@example.com', password: 'x', totp_code: null }, 400, 'totp_code: must be a string'],
    [[], 400, 'body: must be an object'],
    ['text', 400, 'body: must be an object'],
    [
      { email: 'not an email', password: 'x' },
      422,
      'email: must be an email address of at most 254 characters, in ASCII',
    ],
    [
      { email: 'quac\u212A@example.com', password: 'x' },
      422,
      'email: must be an email address of at most 254 characters, in ASCII',
    ],
    [{ email: 'ada@example.com', password: 'x'.repeat(257) }, 422, 'password: must be at most 256 characters'],
    [
      { email: 'ada@example.com', password: 'x', totp_code: '1'.repeat(65) },
      422,
      'totp_code: must be at most 64 characters',
    ],
    [{ email: 'ada@example.com', password: 'x', remember: true }, 422, 'remember: is not a known field'],
  ])('refuses %j', async (body, status, message) => {
    const hashesBefore = panel.services.passwords.hashed
    const answer = await login(body)
    expect([answer.status, answer.message]).toEqual([status, message])
    expect(answer.error).toBe(status === 400 ? 'bad request' : 'validation error')
    expect(panel.services.passwords.hashed).toBe(hashesBefore)
  })

  test('rehashes a password that was hashed with weaker parameters', async () => {
    const weak = await Bun.password.hash(PASSWORD, { algorithm: 'argon2id', memoryCost: 8192, timeCost: 1 })
    const { id, email } = await panel.services.users.create(
      operator,
      { email: 'weak@example.com', name: 'Weak', role: 'customer' },
      weak,
    )
    await panel.login(email)
    expect((await panel.services.users.get(id)).passwordHash).toStartWith('$argon2id$v=19$m=19456,t=2,p=1$')
  })
})

describe('a JWT', () => {
  test('is HS256, has its claims, and lasts 24 hours', async () => {
    const token = await panel.login(ada.email)
    expect(decodeProtectedHeader(token)).toMatchObject({ alg: 'HS256', typ: 'JWT' })
    const { iss, aud, sub, jti, iat, exp } = decodeJwt(token)
    expect({ iss, aud, sub }).toEqual({ iss: 'ncp', aud: 'ncp-api', sub: `${ada.id}` })
    expect(jti).toBeString()
    expect(iat).toBeNumber()
    expect(exp).toBe(Math.floor(panel.clock.now() / 1000) + 86_400)
  })

  test('is different at each login', async () => {
    const [a, b] = [await panel.login(ada.email), await panel.login(ada.email)]
    expect(decodeJwt(a).jti).not.toBe(decodeJwt(b).jti)
  })

  test('ends at its expiry, and not a second before', async () => {
    const token = await panel.login(ada.email)
    const left = (decodeJwt(token).exp ?? 0) - Math.floor(panel.clock.now() / 1000)
    panel.clock.advance(left - 1)
    expect((await panel.get('/auth/me', token)).status).toBe(200)
    panel.clock.advance(1)
    expect((await panel.get('/auth/me', token)).status).toBe(401)
    ada.token = await panel.login(ada.email)
  })

  test('lasts as long as the administrator has configured', async () => {
    const admin = await panel.login('admin@localhost', panel.adminPassword())
    expect((await panel.patch('/admin/settings', admin, { jwt_ttl_seconds: 60 })).status).toBe(200)
    const token = await panel.login(ada.email)
    expect(decodeJwt(token).exp).toBe(Math.floor(panel.clock.now() / 1000) + 60)
    await panel.patch('/admin/settings', admin, { jwt_ttl_seconds: 86_400 })
  })

  test('ends on logout, and leaves the other sessions', async () => {
    const [a, b] = [await panel.login(ada.email), await panel.login(ada.email)]
    const answer = await panel.post('/auth/logout', a)
    expect([answer.status, answer.data, answer.message]).toEqual([200, null, 'Logged out'])
    expect((await panel.get('/auth/me', a)).status).toBe(401)
    expect((await panel.get('/auth/me', b)).status).toBe(200)
  })
})

describe('logout', () => {
  test('requires a JWT', async () => {
    expect((await panel.post('/auth/logout', undefined)).status).toBe(401)
    expect((await panel.post('/auth/logout', await panel.key(ada.token))).status).toBe(403)
  })
})

describe('me', () => {
  test('shows the user and the credential, for a JWT and for a key', async () => {
    const withToken = await panel.get('/auth/me', ada.token)
    expect(withToken.data).toMatchObject({ user: { id: ada.id, email: ada.email }, credential: { kind: 'jwt' } })
    const key = await panel.key(ada.token, { expires_at: '2099-01-01T00:00:00+01:00' })
    const withKey = await panel.get('/auth/me', key)
    expect(withKey.data).toMatchObject({
      credential: { kind: 'api_key', expires_at: '2098-12-31T23:00:00.000Z' },
    })
  })

  test('requires a credential', async () => {
    const answer = await panel.get('/auth/me')
    expect([answer.status, answer.error, answer.message]).toEqual([401, 'not authenticated', 'Authentication required'])
  })
})

describe('sessions', () => {
  test('are listed with their origin, and ended one by one', async () => {
    const bob = await panel.customer()
    const other = await panel.login(bob.email)
    const list = await panel.get<{ id: number; current: boolean; address: string; user_agent: string }[]>(
      '/auth/sessions',
      bob.token,
    )
    expect(list.data.map((session) => session.current)).toEqual([true, false])
    expect(list.data[0]).toMatchObject({ address: '127.0.0.1', user_agent: expect.stringContaining('Bun') })
    const ended = await panel.delete(`/auth/sessions/${list.data[1]?.id}`, bob.token)
    expect([ended.status, ended.message]).toEqual([200, 'Session ended'])
    expect((await panel.get('/auth/me', other)).status).toBe(401)
    expect((await panel.delete(`/auth/sessions/${list.data[1]?.id}`, bob.token)).status).toBe(404)
  })

  test('of another user cannot be ended, nor any by a key or without a credential', async () => {
    const bob = await panel.customer()
    const [mine] = (await panel.get<{ id: number }[]>('/auth/sessions', bob.token)).data
    expect((await panel.delete(`/auth/sessions/${mine?.id}`, ada.token)).status).toBe(403)
    expect((await panel.delete(`/auth/sessions/${mine?.id}`, await panel.key(bob.token))).status).toBe(403)
    expect((await panel.send('DELETE', `/auth/sessions/${mine?.id}`)).status).toBe(401)
    expect((await panel.send('GET', '/auth/sessions')).status).toBe(401)
    expect((await panel.delete('/auth/sessions/abc', bob.token)).status).toBe(400)
  })
})
