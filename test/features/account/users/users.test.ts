/** Users: invited, activated, changed and disabled by administrators, of whom one always remains. */
import { describe, expect, test } from 'bun:test'
import { hostname } from 'node:os'
import { PASSWORD, startPanel, usePanel } from '../../../harness/panel.ts'

type User = {
  id: number
  email: string
  name: string
  role: string
  status: string
  two_factor_enabled: boolean
  created_at: string
  updated_at: string
}
type Invited = User & { activation: { token: string; expires_at: string } }

const DAY_SECONDS = 86_400
const NAME_RULE = 'name: must be 1 to 100 characters, without control characters'
const EMAIL_RULE = 'email: must be an email address of at most 254 characters, in ASCII'
const ROLE_RULE = 'role: must be one of admin, customer'
const TOKEN_RULE = 'token: is unknown, expired or already used; ask for a new one'
const LAST_ADMIN = 'This is the last active administrator; make another one first'

const panel = await usePanel()
const ada = await panel.customer()

let invitations = 0
const newEmail = () => `user${++invitations}@invited.example`
const create = async (body: object = {}) =>
  panel.post<Invited>('/admin/users', await panel.admin(), {
    email: newEmail(),
    name: 'New',
    role: 'customer',
    ...body,
  })
const invite = async (body: object = {}) => (await create(body)).data
const change = async (id: number | string, body: unknown) =>
  panel.patch<User>(`/admin/users/${id}`, await panel.admin(), body)
const get = async (id: number | string) => panel.get<User>(`/admin/users/${id}`, await panel.admin())
const all = async () => (await panel.get<User[]>('/admin/users?limit=1000', await panel.admin())).data
const activate = (token: unknown, password: unknown = PASSWORD, more: object = {}) =>
  panel.post('/auth/password-reset/confirm', undefined, { token, password, ...more })
const login = (email: string, password = PASSWORD) =>
  panel.post<{ token: string }>('/auth/login', undefined, { email, password })
const now = () => new Date(panel.clock.now()).toISOString()

const missing: [string, number, string][] = [
  ['0', 404, 'No such user'],
  ['-1', 404, 'No such user'],
  ['999999', 404, 'No such user'],
  ['9007199254740993', 404, 'No such user'],
  ['abc', 400, 'id: must be an integer'],
  ['1.5', 400, 'id: must be an integer'],
  ['%2531', 400, 'id: must be an integer'],
]

describe('creating a user', () => {
  test.each(['customer', 'admin'])('returns the %s, and once an activation', async (role) => {
    const email = newEmail()
    const answer = await create({ email, name: 'Ada Lovelace', role })
    expect([answer.status, answer.message]).toEqual([201, 'User created'])
    const { activation, ...user } = answer.data
    expect(user).toEqual({
      id: expect.any(Number),
      email,
      name: 'Ada Lovelace',
      role,
      status: 'active',
      two_factor_enabled: false,
      created_at: now(),
      updated_at: now(),
    })
    expect(activation).toEqual({
      token: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      expires_at: new Date(panel.clock.now() + DAY_SECONDS * 1000).toISOString(),
    })
    const shown = await get(user.id)
    expect([shown.status, shown.message, shown.data]).toEqual([200, '', user])
    expect((await all()).at(-1)).toEqual(user)
  })

  test('stores the email in lower case', async () => {
    const email = newEmail()
    expect((await invite({ email: email.toUpperCase() })).email).toBe(email)
  })

  test('with an email already in use is 409, in any case', async () => {
    const { email } = await invite()
    const before = await all()
    for (const again of [email, email.toUpperCase(), ada.email, 'Admin@LocalHost']) {
      const answer = await create({ email: again })
      expect([answer.status, answer.error, answer.message]).toEqual([
        409,
        'conflict',
        'email: another user has this address',
      ])
    }
    expect(await all()).toEqual(before)
  })

  test('with one email many times at once succeeds once', async () => {
    const email = newEmail()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => create({ email: n % 2 ? email : email.toUpperCase() })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(409)])
    expect((await all()).filter((user) => user.email === email)).toHaveLength(1)
    // The token that works is the one that was given out.
    const winner = answers.find(({ status }) => status === 201)
    expect((await activate(winner?.data.activation.token)).status).toBe(200)
  })

  test.each<[object, number, string]>([
    [{ email: undefined }, 400, 'email: is required'],
    [{ name: undefined }, 400, 'name: is required'],
    [{ role: undefined }, 400, 'role: is required'],
    [{ email: 1 }, 400, 'email: must be a string'],
    [{ email: null }, 400, 'email: must be a string'],
    [{ email: '' }, 422, EMAIL_RULE],
    [{ email: 'nobody' }, 422, EMAIL_RULE],
    [{ email: 'a@b@example.com' }, 422, EMAIL_RULE],
    [{ email: 'a @example.com' }, 422, EMAIL_RULE],
    [{ email: 'a@example.com\nb@example.com' }, 422, EMAIL_RULE],
    [{ email: 'quac\u212a@example.com' }, 422, EMAIL_RULE],
    [{ email: 'jürgen@example.com' }, 422, EMAIL_RULE],
    [{ email: `${'a'.repeat(65)}@example.com` }, 422, EMAIL_RULE],
    [{ email: `a@${'b'.repeat(250)}.com` }, 422, EMAIL_RULE],
    [{ email: 'a@a-.example.com' }, 422, EMAIL_RULE],
    [{ email: 'a@-a.example.com' }, 422, EMAIL_RULE],
    [{ email: 'a@example.com-' }, 422, EMAIL_RULE],
    [{ email: 'a@example..com' }, 422, EMAIL_RULE],
    [{ email: 'a@.example.com' }, 422, EMAIL_RULE],
    [{ email: `a@${'b'.repeat(64)}.com` }, 422, EMAIL_RULE],
    [{ name: 5 }, 400, 'name: must be a string'],
    [{ name: '' }, 422, NAME_RULE],
    [{ name: 'x'.repeat(101) }, 422, NAME_RULE],
    [{ name: 'a\r\nBcc: b' }, 422, NAME_RULE],
    [{ name: '\udc00' }, 422, NAME_RULE],
    [{ role: 1 }, 400, 'role: must be a string'],
    [{ role: 'root' }, 422, ROLE_RULE],
    [{ role: 'Admin' }, 422, ROLE_RULE],
    [{ role: '' }, 422, ROLE_RULE],
    [{ password: 'a fine password' }, 422, 'password: is not a known field'],
    [{ password_hash: 'x' }, 422, 'password_hash: is not a known field'],
    [{ id: 1 }, 422, 'id: is not a known field'],
    [{ status: 'active' }, 422, 'status: is not a known field'],
  ])('from %j creates none', async (wrong, status, message) => {
    const before = await all()
    const answer = await create(wrong)
    expect([answer.status, answer.message]).toEqual([status, message])
    expect(answer.error).toBe(status === 400 ? 'bad request' : 'validation error')
    expect(await all()).toEqual(before)
  })
})

describe('an activation', () => {
  test('sets the password, once, and logs no one in', async () => {
    const { email, activation } = await invite()
    expect((await login(email)).status).toBe(401)
    const answer = await activate(activation.token)
    expect([answer.status, answer.data, answer.message]).toEqual([200, null, 'Password set; log in with it'])
    expect((await login(email)).status).toBe(200)
    const again = await activate(activation.token, 'another fine password')
    expect([again.status, again.error, again.message]).toEqual([422, 'validation error', TOKEN_RULE])
    expect((await login(email)).status).toBe(200)
    expect((await login(email, 'another fine password')).status).toBe(401)
  })

  test('many times at once works once', async () => {
    const { email, activation } = await invite()
    const passwords = Array.from({ length: 8 }, (_, n) => `the password of attempt ${n}`)
    const answers = await Promise.all(passwords.map((password) => activate(activation.token, password)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(422)])
    for (const [n, answer] of answers.entries()) {
      expect((await login(email, passwords[n])).status).toBe(answer.status === 200 ? 200 : 401)
    }
  })

  test('works until just before 24 hours have passed, and not after', async () => {
    const [early, late] = [await invite(), await invite()]
    panel.clock.advance(DAY_SECONDS - 0.001)
    expect((await activate(early.activation.token)).status).toBe(200)
    panel.clock.advance(0.001)
    const answer = await activate(late.activation.token)
    expect([answer.status, answer.message]).toEqual([422, TOKEN_RULE])
    expect((await login(late.email)).status).toBe(401)
    ada.token = await panel.login(ada.email)
  })

  test('of a disabled user does not work until the user is enabled', async () => {
    const { id, activation } = await invite()
    await change(id, { status: 'disabled' })
    const answer = await activate(activation.token)
    expect([answer.status, answer.message]).toEqual([422, TOKEN_RULE])
    await change(id, { status: 'active' })
    expect((await activate(activation.token)).status).toBe(200)
  })

  test.each<[string, (email: string) => string, string]>([
    ['that is empty', () => '', 'must be 8 to 256 characters'],
    ['of 7 characters', () => 'x7#kq2!', 'must be 8 to 256 characters'],
    ['of 7 emoji', () => '\u{1f511}'.repeat(7), 'must be 8 to 256 characters'],
    ['of 257 characters', () => 'long-'.repeat(52).slice(0, 257), 'must be 8 to 256 characters'],
    ['of 8 characters that compose to 7', () => 'x7#kq2e\u0301', 'must be 8 to 256 characters'],
    ['that is widely used', () => 'password123', 'is one of the most used passwords, which attackers try first'],
    [
      'that is widely used, in capitals',
      () => 'PASSWORD123',
      'is one of the most used passwords, which attackers try first',
    ],
    [
      'made of the email address',
      (email) => email,
      'must not be made of your email address, the name of this server or of this product',
    ],
    [
      'made of the part before the @',
      (email) => `${email.split('@')[0]?.toUpperCase()}!1`,
      'must not be made of your email address, the name of this server or of this product',
    ],
    [
      'made of the product’s name',
      () => 'ncpNCPncp1',
      'must not be made of your email address, the name of this server or of this product',
    ],
    [
      'made of the server’s name',
      () => `${hostname()}`.repeat(4).concat('+7'),
      'must not be made of your email address, the name of this server or of this product',
    ],
  ])('refuses a password %s with the reason, and can still be used', async (_, passwordOf, rule) => {
    const { email, activation } = await invite({ email: `longer-name${++invitations}@invited.example` })
    const answer = await activate(activation.token, passwordOf(email))
    expect([answer.status, answer.error, answer.message]).toEqual([422, 'validation error', `password: ${rule}`])
    expect((await login(email, passwordOf(email))).status).not.toBe(200)
    expect((await activate(activation.token)).status).toBe(200)
    expect((await login(email)).status).toBe(200)
  })

  test.each([
    ['8 characters', 'x7#kq2!p'],
    ['256 characters', 'long-'.repeat(52).slice(0, 256)],
    ['8 emoji', [...Array(8).keys()].map((i) => String.fromCodePoint(0x1f511 + i * i)).join('')],
    ['spaces at its ends', '  between spaces  '],
  ])('accepts a password of %s', async (_, password) => {
    const { email, activation } = await invite()
    expect((await activate(activation.token, password)).status).toBe(200)
    expect((await login(email, password)).status).toBe(200)
    expect((await login(email, password.trim())).status).toBe(password === password.trim() ? 200 : 401)
  })

  test.each<[object, number, string]>([
    [{ token: undefined }, 400, 'token: is required'],
    [{ password: undefined }, 400, 'password: is required'],
    [{ token: 1 }, 400, 'token: must be a string'],
    [{ password: 12345678 }, 400, 'password: must be a string'],
    [{ password: null }, 400, 'password: must be a string'],
    [{ token: '' }, 422, TOKEN_RULE],
    [{ token: 'A'.repeat(43) }, 422, TOKEN_RULE],
    [{ token: 'A'.repeat(129) }, 422, 'token: must be at most 128 characters'],
    [{ email: 'ada@example.com' }, 422, 'email: is not a known field'],
  ])('with %j is refused without a hash', async (wrong, status, message) => {
    const { activation } = await invite()
    const hashesBefore = panel.services.passwords.hashed
    const answer = await activate(activation.token, PASSWORD, wrong)
    expect([answer.status, answer.message]).toEqual([status, message])
    expect(panel.services.passwords.hashed).toBe(hashesBefore)
    expect((await activate(activation.token)).status).toBe(200)
  })

  test('is no credential', async () => {
    const { activation } = await invite({ role: 'admin' })
    expect((await panel.get('/admin/users', activation.token)).status).toBe(401)
  })

  test('ends with its hash: the database holds nothing that can be redeemed', async () => {
    const { activation } = await invite()
    const answer = await activate(Bun.SHA256.hash(activation.token, 'hex'))
    expect([answer.status, answer.message]).toEqual([422, TOKEN_RULE])
  })
})

describe('changing a user', () => {
  test('keeps absent fields', async () => {
    const { activation: _, ...made } = await invite()
    let expected: User = made
    for (const body of [
      { name: 'Changed' },
      { role: 'admin' },
      { status: 'disabled' },
      { status: 'active', role: 'customer' },
    ]) {
      panel.clock.advance(1)
      const answer = await change(made.id, body)
      expected = { ...expected, ...body, updated_at: now() }
      expect([answer.status, answer.message, answer.data]).toEqual([200, 'User changed', expected])
      expect((await get(made.id)).data).toEqual(expected)
    }
  })

  test.each<[unknown, number, string]>([
    [{ name: null }, 400, 'name: must be a string'],
    [{ name: '' }, 422, NAME_RULE],
    [{ role: true }, 400, 'role: must be a string'],
    [{ role: 'root' }, 422, ROLE_RULE],
    [{ status: 0 }, 400, 'status: must be a string'],
    [{ status: 'deleted' }, 422, 'status: must be one of active, disabled'],
    [{ password: 'a fine password' }, 422, 'password: is not a known field'],
    [{ password_hash: 'x' }, 422, 'password_hash: is not a known field'],
    [{ email: 'other@example.com' }, 422, 'email: is not a known field'],
    [{ id: 1 }, 422, 'id: is not a known field'],
    [{ two_factor_enabled: false }, 422, 'two_factor_enabled: is not a known field'],
    [[], 400, 'body: must be an object'],
    ['text', 400, 'body: must be an object'],
    [undefined, 400, 'body: is required'],
  ])('with %j changes nothing', async (wrong, status, message) => {
    const { activation: _, ...made } = await invite()
    // Something valid beside it must not be stored either.
    const mixed =
      typeof wrong === 'object' && !Array.isArray(wrong)
        ? { ...(wrong && 'name' in wrong ? { role: 'admin' } : { name: 'Changed' }), ...wrong }
        : wrong
    const answer = await change(made.id, mixed)
    expect([answer.status, answer.message]).toEqual([status, message])
    expect((await get(made.id)).data).toEqual(made)
  })

  test('to another role ends the sessions and takes effect at the next request', async () => {
    const bob = await panel.customer('admin')
    expect((await panel.get('/admin/users', bob.token)).status).toBe(200)
    expect((await change(bob.id, { role: 'customer' })).status).toBe(200)
    expect((await panel.get('/admin/users', bob.token)).status).toBe(401)
    const asCustomer = await panel.login(bob.email)
    expect((await panel.get('/admin/users', asCustomer)).status).toBe(403)
    expect((await change(bob.id, { role: 'admin' })).status).toBe(200)
    expect((await panel.get('/auth/me', asCustomer)).status).toBe(401)
  })

  test('to another name, or to the current values, leaves the sessions', async () => {
    const bob = await panel.customer()
    for (const body of [{ name: 'Robert' }, { role: 'customer' }, { status: 'active' }, {}]) {
      expect((await change(bob.id, body)).status).toBe(200)
      expect((await panel.get('/auth/me', bob.token)).status).toBe(200)
    }
  })

  test('to disabled ends JWTs and keys at the next request, and login', async () => {
    const bob = await panel.customer()
    const [other, key] = [await panel.login(bob.email), await panel.key(bob.token)]
    expect((await panel.get('/auth/me', key)).status).toBe(200)
    await change(bob.id, { status: 'disabled' })
    for (const credential of [bob.token, other, key]) {
      const answer = await panel.get('/auth/me', credential)
      expect([answer.status, answer.error, answer.message]).toEqual([
        401,
        'not authenticated',
        'Authentication required',
      ])
    }
    expect((await login(bob.email)).status).toBe(401)
    await change(bob.id, { status: 'active' })
    // A session stays ended; a key is the user's until it is deleted.
    expect((await panel.get('/auth/me', bob.token)).status).toBe(401)
    expect((await panel.get('/auth/me', key)).status).toBe(200)
    expect((await login(bob.email)).status).toBe(200)
  })

  test('leaves other users alone', async () => {
    const [bob, carl] = [await panel.customer(), await panel.customer()]
    await change(bob.id, { status: 'disabled' })
    expect((await panel.get('/auth/me', carl.token)).status).toBe(200)
    expect((await get(carl.id)).data.status).toBe('active')
  })

  test.each(missing)('%s is %i', async (id, status, message) => {
    for (const answer of [await get(id), await change(id, { name: 'Nobody' })]) {
      expect([answer.status, answer.message]).toEqual([status, message])
    }
  })
})

describe('the last active administrator', () => {
  /** A panel with one administrator, whose id is 1. */
  async function lonely() {
    const panel = await startPanel()
    const admins = async () => {
      const { rows } = await panel.services.users.list({ limit: 100, afterId: 0 })
      return rows.filter(({ role, status }) => role === 'admin' && status === 'active').length
    }
    return { panel, token: await panel.admin(), admins }
  }

  test.each([{ role: 'customer' }, { status: 'disabled' }, { role: 'customer', status: 'disabled', name: 'Gone' }])(
    'refuses %j, and stays as it was',
    async (body) => {
      const { panel, token } = await lonely()
      await panel.customer()
      const disabled = await panel.customer('admin')
      await panel.patch(`/admin/users/${disabled.id}`, token, { status: 'disabled' })
      const before = (await panel.get<User>('/admin/users/1', token)).data
      const answer = await panel.patch('/admin/users/1', token, body)
      expect([answer.status, answer.error, answer.message]).toEqual([409, 'conflict', LAST_ADMIN])
      expect((await panel.get<User>('/admin/users/1', token)).data).toEqual(before)
      expect((await panel.patch('/admin/users/1', token, { name: 'Renamed', role: 'admin' })).status).toBe(200)
      await panel.stop()
    },
  )

  test('may go once there is another', async () => {
    const { panel, token } = await lonely()
    const successor = await panel.customer('admin')
    expect((await panel.patch('/admin/users/1', token, { role: 'customer' })).status).toBe(200)
    const answer = await panel.patch(`/admin/users/${successor.id}`, successor.token, { status: 'disabled' })
    expect([answer.status, answer.message]).toEqual([409, LAST_ADMIN])
    await panel.stop()
  })

  test('may not go while the other one has not accepted the invitation', async () => {
    const { panel, token } = await lonely()
    const body = { email: 'invited@example.com', name: 'Invited', role: 'admin' }
    const { data: invited } = await panel.post<Invited>('/admin/users', token, body)
    const answer = await panel.patch('/admin/users/1', token, { status: 'disabled' })
    expect([answer.status, answer.message]).toEqual([409, LAST_ADMIN])
    expect((await panel.patch(`/admin/users/${invited.id}`, token, { role: 'customer' })).status).toBe(200)
    await panel.stop()
  })

  test.each([{ role: 'customer' }, { status: 'disabled' }])(
    'remains when two administrators do %j to each other at once',
    async (body) => {
      const { panel, token, admins } = await lonely()
      const rival = await panel.customer('admin')
      expect(await admins()).toBe(2)
      const answers = await Promise.all([
        panel.patch(`/admin/users/${rival.id}`, token, body),
        panel.patch('/admin/users/1', rival.token, body),
      ])
      const [first, second] = answers.map(({ status }) => status).sort()
      expect(first).toBe(200)
      // The second one either meets the rule or has no session left.
      expect([401, 409]).toContain(second ?? 0)
      expect(await admins()).toBe(1)
      await panel.stop()
    },
  )

  test('remains when all administrators leave at once', async () => {
    const { panel, token, admins } = await lonely()
    const others = [await panel.customer('admin'), await panel.customer('admin'), await panel.customer('admin')]
    const answers = await Promise.all([
      panel.patch('/admin/users/1', token, { role: 'customer' }),
      ...others.map(({ id, token }, n) =>
        panel.patch(`/admin/users/${id}`, token, n % 2 ? { role: 'customer' } : { status: 'disabled' }),
      ),
    ])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 409])
    expect(await admins()).toBe(1)
    await panel.stop()
  })
})

describe('the list of users', () => {
  test('comes in pages that list each user once, in order', async () => {
    await Promise.all(Array.from({ length: 5 }, () => invite()))
    const expected = (await all()).map(({ id }) => id)
    const seen: number[] = []
    for (let next = '/admin/users?limit=2'; next !== ''; ) {
      const answer = await panel.get<User[]>(next, await panel.admin())
      expect(answer.status).toBe(200)
      expect(answer.data.length).toBeLessThanOrEqual(2)
      seen.push(...answer.data.map(({ id }) => id))
      next = /^<([^>]+)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1] ?? ''
    }
    expect(seen).toEqual(expected)
    expect(expected).toEqual([...new Set(expected)].sort((a, b) => a - b))
  })

  test.each([
    ['limit=0', 422],
    ['limit=1001', 422],
    ['limit=x', 400],
    ['limit=1&limit=1', 400],
    ['cursor=bWFkZSB1cA', 422],
    ['nickname=ada', 422],
  ])('with ?%s is refused', async (query, status) => {
    const answer = await panel.get(`/admin/users?${query}`, await panel.admin())
    expect([answer.status, answer.error]).toEqual([status, status === 400 ? 'bad request' : 'validation error'])
  })
})

test('no response contains a password hash, a TOTP seed or a token’s hash', async () => {
  const bob = await panel.customer()
  const setup = await panel.post<{ secret: string }>('/auth/2fa/setup', bob.token, { password: PASSWORD })
  const { id, activation } = await invite()
  const row = await panel.services.users.get(bob.id)
  expect(row.passwordHash).toStartWith('$argon2id$')
  expect(row.totpPendingSecret).toBeString()
  const secrets = [
    '$argon2id$',
    row.passwordHash ?? '',
    row.totpPendingSecret ?? '',
    setup.data.secret,
    activation.token,
    Bun.SHA256.hash(activation.token, 'hex'),
  ]
  const answers = [
    await get(bob.id),
    await get(id),
    await change(bob.id, { name: 'Bob' }),
    await change(id, { name: 'New' }),
    await panel.get('/admin/users?limit=1000', await panel.admin()),
    await panel.get('/auth/me', bob.token),
    await login(bob.email),
    await create({ email: bob.email }),
    await activate(activation.token, 'short'),
  ]
  for (const { data, message } of answers) {
    const text = JSON.stringify(data) + message
    for (const secret of secrets) expect(text).not.toContain(secret)
    expect(text).not.toMatch(/hash|secret|totp/i)
  }
})

describe('without the right', () => {
  const requests: [string, string, object | undefined][] = [
    ['GET', '/admin/users', undefined],
    ['POST', '/admin/users', { email: 'sneaked@example.com', name: 'Sneaked', role: 'admin' }],
    ['GET', '/admin/users/1', undefined],
    ['GET', '/admin/users/999999', undefined],
    ['PATCH', '/admin/users/1', { status: 'disabled' }],
    ['PATCH', '/admin/users/2', { role: 'admin' }],
  ]

  test.each(requests)('%s %s is 403 for a customer, and changes nothing', async (method, path, body) => {
    const before = await all()
    for (const as of [ada.token, await panel.key(ada.token)]) {
      const answer = await panel.send(method, path, { as, ...(body && { body }) })
      expect([answer.status, answer.error, answer.message]).toEqual([
        403,
        'forbidden',
        'Only an administrator may do this',
      ])
    }
    expect(await all()).toEqual(before)
  })

  test.each(requests)('%s %s is 401 without a credential', async (method, path, body) => {
    const before = await all()
    const answer = await panel.send(method, path, { ...(body && { body }) })
    expect([answer.status, answer.error, answer.message]).toEqual([401, 'not authenticated', 'Authentication required'])
    expect(await all()).toEqual(before)
  })

  test('an administrator’s API key has it', async () => {
    const key = await panel.key(await panel.admin())
    expect((await panel.get('/admin/users', key)).status).toBe(200)
    const body = { email: newEmail(), name: 'By key', role: 'customer' }
    expect((await panel.post('/admin/users', key, body)).status).toBe(201)
  })
})
