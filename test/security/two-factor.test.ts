/** The second factor against those who have the first: guesses, replays, and a server that forgets. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { TOTP } from 'otpauth'
import { newTotpSecret, totpStep } from '../../src/crypto/totp.ts'
import { failuresOf, setFailures } from '../harness/database.ts'
import { newDirectory } from '../harness/directory.ts'
import { type Customer, PASSWORD, type Panel, startPanel } from '../harness/panel.ts'

let data: string
let panel: Panel
beforeAll(async () => {
  data = newDirectory()
  panel = await startPanel({ data })
})
afterAll(async () => {
  await panel.stop()
  rmSync(data, { recursive: true, force: true })
})

type Enrolled = Customer & { secret: string }

const codeOf = (secret: string) => new TOTP({ secret }).generate({ timestamp: panel.clock.now() })

async function enrolled(): Promise<Enrolled> {
  const customer = await panel.customer()
  const { data } = await panel.post<{ secret: string }>('/auth/2fa/setup', customer.token, { password: PASSWORD })
  await panel.post('/auth/2fa/enable', customer.token, { totp_code: codeOf(data.secret) })
  panel.clock.advance(60)
  return { ...customer, secret: data.secret }
}

const login = ({ email }: Customer, totp_code: unknown, at: Pick<Panel, 'send'> = panel) =>
  at.send<{ token: string } | null>('POST', '/auth/login', { body: { email, password: PASSWORD, totp_code } })

/** @see pingvin-share-x GHSA-j679-vp39-qwqq, accounts-js#1227: any code was good enough */
test('of twenty thousand codes, only those of two steps are accepted', () => {
  const secret = newTotpSecret()
  // At the beginning of a step: the next one is taken five seconds early.
  const nowMs = Math.floor(panel.clock.now() / 30_000) * 30_000
  const [current, previous] = [0, -30_000].map((offset) => new TOTP({ secret }).generate({ timestamp: nowMs + offset }))
  // Every fiftieth of the million, and the two.
  const codes = Array.from({ length: 20_000 }, (_, i) => `${i * 50 + (i % 7)}`.padStart(6, '0'))
  const taken = new Set(
    [...codes, `${current}`, `${previous}`].filter((code) => totpStep(secret, code, nowMs) !== undefined),
  )
  expect(taken).toEqual(new Set([`${current}`, `${previous}`]))
})

/** @see HestiaCP 1.10.0 #5203: a long text went around the check */
describe('login with 2FA on', () => {
  let victim: Enrolled
  beforeAll(async () => {
    victim = await enrolled()
  })

  test.each<[string, unknown, number]>([
    ['of 10 KB', '1'.repeat(10_000), 422],
    ['null', null, 400],
    ['a number', 123_456, 400],
    ['a list', ['123456'], 400],
    ['an object', { $gt: '' }, 400],
    ['true', true, 400],
    ['empty', '', 401],
    ['blank', '      ', 401],
    ['of NULs', '\0\0\0\0\0\0', 401],
    ['with a comma', '000000,111111', 401],
    ['in full-width digits', '１２３４５６', 401],
    ['in SQL', "' OR 1=1--", 401],
    ['with a wildcard', '%', 401],
  ])('refuses a code that is %s', async (_, code, status) => {
    const answer = await login(victim, code)
    expect([answer.status, answer.data]).toEqual([status, null])
  })

  /** @see futrx remote#112, payload-totp#74: a right password forgave the wrong codes before it */
  test('is closed by wrong codes, however often the password was right before them', async () => {
    const ada = await enrolled()
    setFailures(panel, ada.id, 0)
    for (let i = 1; i <= 3; i++) {
      expect((await login(ada, '000000')).error).toBe('invalid_2fa_code')
      expect((await login(ada, undefined)).error).toBe('2fa_required')
      expect(failuresOf(panel, ada.id)).toBe(2 * i)
    }
    setFailures(panel, ada.id, 19)
    await login(ada, '000000')
    expect(
      (
        await panel.send('POST', '/auth/login', {
          body: { email: ada.email, password: PASSWORD, totp_code: codeOf(ada.secret) },
          from: '198.51.100.77',
        })
      ).error,
    ).toBe('invalid credentials')
  })

  /** @see payload-totp#74: of many parallel guesses, all read the counter before one wrote it */
  test('verifies no more of a burst of wrong codes than the remaining attempts', async () => {
    const ada = await enrolled()
    setFailures(panel, ada.id, 5)
    const from = '198.51.100.78'
    const body = { email: ada.email, password: PASSWORD, totp_code: '000000' }
    const answers = await Promise.all(
      Array.from({ length: 15 }, () => panel.send('POST', '/auth/login', { body, from })),
    )
    expect(answers.filter(({ error }) => error === 'invalid_2fa_code')).toHaveLength(5)
    expect(answers.filter(({ error }) => error === 'invalid credentials')).toHaveLength(10)
  })
})

/**
 * @see CVE-2022-25838 (Laravel Fortify), CVE-2026-33473 (Vikunja), CVE-2025-6014 (Vault), CVE-2025-55003 (OpenBao)
 * @see CVE-2025-69197 (Pterodactyl): a code seen over a shoulder was good for another login
 */
test('a spent code stays spent across a restart of the panel', async () => {
  const ada = await enrolled()
  const code = codeOf(ada.secret)
  expect((await login(ada, code)).status).toBe(200)
  const again = await startPanel({ data })
  try {
    again.clock.advance((panel.clock.now() - again.clock.now()) / 1000)
    expect((await login(ada, code, again)).error).toBe('invalid_2fa_code')
  } finally {
    await again.stop()
  }
})

/** @see HestiaCP#2784: the page that showed the seed could be called by itself */
test('no operation shows the seed again once it is in force', async () => {
  const ada = await enrolled()
  const { data } = await login(ada, codeOf(ada.secret))
  const token = data?.token ?? ''
  for (const path of ['/auth/me', '/auth/sessions', '/auth/api-keys', '/subscriptions']) {
    expect(JSON.stringify(await panel.get(path, token))).not.toContain(ada.secret)
  }
  for (const method of ['GET', 'HEAD', 'PUT', 'DELETE']) {
    const response = await fetch(`${panel.origin}/api/v1/auth/2fa/setup`, {
      method,
      headers: { authorization: `Bearer ${token}` },
    })
    expect([method, response.status]).toEqual([method, 405])
  }
  expect(JSON.stringify(await panel.get(`/admin/users/${ada.id}`, await panel.admin()))).not.toContain(ada.secret)
})
