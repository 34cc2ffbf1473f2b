/** The standard fields of the rate limit, as two parsers read them: one of structured fields, one that clients use. */
import { beforeAll, expect, test } from 'bun:test'
import { parseRateLimit } from 'ratelimit-header-parser'
import { parseList } from 'structured-headers'
import { usePanel } from '../harness/panel.ts'

const panel = await usePanel({
  limitUser: 30,
  limitAnonymous: 30,
  limitLogin: 30,
  limitPasswordReset: 2,
  corsOrigins: ['https://app.example.com'],
})
const token = (await panel.customer()).token
beforeAll(async () => {
  panel.clock.advance(120)
})

const json = { 'content-type': 'application/json' }
const requests: [policy: string, path: string, init: () => RequestInit][] = [
  ['user', '/api/v1/auth/me', () => ({ headers: { authorization: `Bearer ${token}` } })],
  ['anonymous', '/api/v1/nope', () => ({})],
  ['login', '/api/v1/auth/login', () => ({ method: 'POST', body: '{}', headers: json })],
  ['password-reset', '/api/v1/auth/password-reset', () => ({ method: 'POST', body: '{}', headers: json })],
  ['probe', '/livez', () => ({})],
  [
    'preflight',
    '/api/v1/sites',
    () => ({
      method: 'OPTIONS',
      headers: { origin: 'https://app.example.com', 'access-control-request-method': 'GET' },
    }),
  ],
]

test.each(requests)('of %s match X-RateLimit-*, on every response until it is 429', async (policy, path, init) => {
  for (let count = 0; count < 4; count++) {
    const { status, headers } = await fetch(panel.origin + path, init())
    const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) =>
      Number(headers.get(`x-ratelimit-${name}`)),
    )
    const seconds = (reset ?? 0) - Math.ceil(panel.clock.now() / 1000)

    // Section 3 and 4 of the draft: lists of one string each, with integers for parameters.
    const [quota] = parseList(headers.get('ratelimit-policy') ?? '')
    expect(quota).toEqual([policy, new Map(Object.entries({ q: limit, w: 60 }))])
    const [item] = parseList(headers.get('ratelimit') ?? '')
    const [name, parameters] = item as [string, Map<string, number>]
    expect([name, parameters.get('r'), parameters.get('t')]).toEqual([policy, remaining, seconds])
    // Whatever else is there has a prefix.
    expect([...parameters.keys()].filter((key) => !/^(r|t|ncp-[a-z]+)$/.test(key))).toEqual([])

    const before = Date.now()
    const parsed = parseRateLimit(headers)
    expect(parsed).toMatchObject({ limit, remaining, used: (limit ?? 0) - (remaining ?? 0) })
    const at = parsed?.reset?.getTime() ?? 0
    expect(at).toBeGreaterThanOrEqual(before + seconds * 1000)
    expect(at).toBeLessThanOrEqual(Date.now() + seconds * 1000)

    if (status === 429) expect(Number(headers.get('retry-after'))).toBe(seconds)
    if (policy === 'password-reset' && count >= 2) expect(status).toBe(429)
  }
})
