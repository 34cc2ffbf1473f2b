/** Rate limits at their defaults, as the contract states them. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { type Answer, type Customer, type Panel, startPanel } from '../harness/panel.ts'

let panel: Panel
let ada: Customer
beforeEach(async () => {
  panel = await startPanel({ limitLogin: 10, limitPasswordReset: 5, limitUser: 120, limitAnonymous: 120 })
  ada = await panel.customer()
  await panel.subscription(ada.id)
  // The harness has used up some of every bucket.
  panel.clock.advance(120)
})
afterEach(() => panel.stop())

const numbers = ({ headers }: Answer) => ({
  limit: Number(headers.get('x-ratelimit-limit')),
  remaining: Number(headers.get('x-ratelimit-remaining')),
  reset: Number(headers.get('x-ratelimit-reset')),
})
const nowSeconds = () => Math.ceil(panel.clock.now() / 1000)

async function times(count: number, send: () => Promise<Answer>): Promise<Answer[]> {
  const answers: Answer[] = []
  for (let i = 0; i < count; i++) answers.push(await send())
  return answers
}

function expectLimited(answer: Answer): void {
  const { status, data, error, message, headers } = answer
  expect({ status, data, error, message }).toEqual({
    status: 429,
    data: null,
    error: 'rate limit exceeded',
    message: 'Too many requests. Please try again later.',
  })
  expect(numbers(answer).remaining).toBe(0)
  // Never more than the window, and never before the reset by more than the second it is rounded to.
  expect(Number(headers.get('retry-after'))).toBe(60)
  expect(numbers(answer).reset).toBe(nowSeconds() + 60)
}

const badLogin = (from?: string, extra: Record<string, string> = {}) =>
  panel.send('POST', '/auth/login', {
    body: { email: 'nobody@example.com', password: 'wrong password' },
    headers: extra,
    ...(from !== undefined && { from }),
  })

describe('a user', () => {
  test('has 120 requests a minute, counted down in the headers, and is full again at the reset', async () => {
    const answers = await times(120, () => panel.get('/sites', ada.token))
    expect(answers.map(({ status }) => status)).toEqual(Array(120).fill(200))
    expect(answers.map((answer) => numbers(answer).remaining)).toEqual(Array.from({ length: 120 }, (_, i) => 119 - i))
    expect(new Set(answers.map((answer) => numbers(answer).limit))).toEqual(new Set([120]))
    const { reset } = numbers(answers[0] as Answer)
    expect(reset).toBe(nowSeconds() + 60)

    const refused = await panel.get('/sites', ada.token)
    expectLimited(refused)
    panel.clock.advance(Number(refused.headers.get('retry-after')))
    const again = await panel.get('/sites', ada.token)
    expect([again.status, numbers(again).remaining]).toEqual([200, 119])
  })

  test('shares one bucket across all JWTs and keys, and all addresses', async () => {
    const credentials = [
      ada.token,
      await panel.login(ada.email),
      await panel.key(ada.token),
      await panel.key(ada.token),
    ]
    const answers = await Promise.all(
      Array.from({ length: 124 }, (_, i) =>
        panel.send('GET', '/sites', { as: credentials[i % 4] as string, from: `203.0.113.${i % 200}` }),
      ),
    )
    // Making the two keys took two of the 120.
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(118)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(6)
  })

  test('does not use up the bucket of another user', async () => {
    const bob = await panel.customer()
    await times(121, () => panel.get('/auth/me', ada.token))
    expect((await panel.get('/auth/me', ada.token)).status).toBe(429)
    expect((await panel.get('/auth/me', bob.token)).status).toBe(200)
  })

  test('is limited on every path alike, including unknown ones and bad bodies', async () => {
    await times(40, () => panel.get('/nope', ada.token))
    await times(40, () => panel.send('PUT', '/sites', { as: ada.token }))
    await times(40, () => panel.send('POST', '/sites', { as: ada.token, rawBody: '{' }))
    expectLimited(await panel.get('/sites', ada.token))
  })
})

describe('login', () => {
  test('is allowed ten times a minute per address, whatever the outcome', async () => {
    const answers = await times(10, () => badLogin())
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(401))
    expect(numbers(answers[9] as Answer)).toEqual({ limit: 10, remaining: 0, reset: nowSeconds() + 60 })
    expectLimited(await badLogin())
  })

  test('refused by the limit costs no hash', async () => {
    await times(10, () => badLogin())
    const before = panel.services.passwords.hashed
    await times(20, () => badLogin())
    expect(panel.services.passwords.hashed).toBe(before)
  })

  test('in parallel is counted exactly', async () => {
    const answers = await Promise.all(Array.from({ length: 30 }, () => badLogin()))
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(10)
  })

  test('is counted separately from the address’s other requests', async () => {
    await times(11, () => badLogin())
    expect((await panel.get('/sites')).status).toBe(401)
    expect((await panel.get('/sites', ada.token)).status).toBe(200)
  })

  test('is not exempted by a malformed body or a credential', async () => {
    await times(10, () => panel.send('POST', '/auth/login', { rawBody: '{', as: ada.token }))
    expectLimited(await badLogin())
  })
})

describe('password reset', () => {
  test('is allowed five times a minute per address', async () => {
    const confirm = () =>
      panel.post('/auth/password-reset/confirm', undefined, { token: 'x', password: 'long enough pw' })
    const answers = await times(5, confirm)
    expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(422))
    expect(numbers(answers[0] as Answer).limit).toBe(5)
    expectLimited(await confirm())
    expect((await badLogin()).status).toBe(401)
  })
})

describe('without a credential', () => {
  test('an address has 120 requests a minute, bad credentials and unknown paths together', async () => {
    await times(60, () => panel.get('/sites', `ncp_${'0'.repeat(64)}`))
    await times(60, () => panel.get('/nope'))
    expectLimited(await panel.get('/sites'))
    // A user behind the same address goes on.
    expect((await panel.get('/sites', ada.token)).status).toBe(200)
  })

  test('probes have their own bucket', async () => {
    await times(121, () => panel.get('/nope'))
    const answer = await panel.get('/livez')
    expect([answer.status, numbers(answer).limit]).toEqual([200, 600])
  })
})

describe('the standard fields', () => {
  test('match those of the contract', async () => {
    const { headers } = await panel.get('/sites', ada.token)
    expect(headers.get('ratelimit-policy')).toBe('"user";q=120;w=60')
    expect(headers.get('ratelimit')).toBe('"user";r=119;t=60;ncp-limit=120;ncp-remaining=119;ncp-reset=60')
  })
})

describe('the address', () => {
  test('behind a trusted proxy is the one that the proxy saw', async () => {
    await times(10, () => badLogin('203.0.113.1'))
    expectLimited(await badLogin('203.0.113.1'))
    expect((await badLogin('203.0.113.2')).status).toBe(401)
  })

  test('is read from the right, so that what a client adds on the left changes nothing', async () => {
    for (let i = 0; i < 10; i++) await badLogin(`198.51.100.${i}, 203.0.113.1`)
    expectLimited(await badLogin('198.51.100.99, 203.0.113.1'))
  })

  test('of an IPv6 client is its /64', async () => {
    for (let i = 0; i < 10; i++) await badLogin(`2001:db8:1:2::${i}`)
    expectLimited(await badLogin('2001:db8:1:2:ffff::1'))
    expect((await badLogin('2001:db8:1:3::1')).status).toBe(401)
  })

  test('is the socket’s when no proxy is trusted, whatever the headers claim', async () => {
    const direct = await startPanel({ limitLogin: 10, trustedProxies: [] })
    try {
      const attempt = (i: number) =>
        direct.send('POST', '/auth/login', {
          body: { email: 'nobody@example.com', password: 'wrong password' },
          headers: {
            'x-forwarded-for': `203.0.113.${i}`,
            'x-real-ip': `203.0.113.${i}`,
            forwarded: `for=203.0.113.${i}`,
            'cf-connecting-ip': `203.0.113.${i}`,
            'true-client-ip': `203.0.113.${i}`,
          },
        })
      for (let i = 0; i < 10; i++) expect((await attempt(i)).status).toBe(401)
      expect((await attempt(11)).status).toBe(429)
    } finally {
      await direct.stop()
    }
  })
})
