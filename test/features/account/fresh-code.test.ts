/** With two-factor authentication on, a stolen JWT moves no account, nor makes a key where the setting asks for a fresh code. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Enrolled, enrol } from '../../harness/authenticator.ts'
import { failuresOf, setFailures } from '../../harness/database.ts'
import { type Answer, type Customer, PASSWORD, type Panel, startPanel } from '../../harness/panel.ts'

const NEW_PASSWORD = 'an altogether different one'

let panel: Panel
beforeAll(async () => {
  // An address for links, as with a mail server: a new address has to be proven.
  panel = await startPanel({
    mailServer: { host: '127.0.0.1', port: 9, implicitTls: false, credentials: undefined },
    mailFrom: 'ncp@example.com',
    publicUrl: 'https://panel.example.com',
  })
  const settings = { require_code_for_api_keys: true }
  expect((await panel.patch('/admin/settings', await panel.admin(), settings)).status).toBe(200)
})
afterAll(() => panel.stop())

type Act = (token: string, totp_code?: unknown) => Promise<Answer<unknown>>
const withCode = (totp_code: unknown) => (totp_code === undefined ? {} : { totp_code })
let renamed = 0
const acts: [name: string, status: number, act: Act][] = [
  ['creating an API key', 201, (token, code) => panel.post('/auth/api-keys', token, { name: 'X', ...withCode(code) })],
  [
    'changing the password',
    200,
    (token, code) =>
      panel.post('/auth/password', token, {
        current_password: PASSWORD,
        new_password: NEW_PASSWORD,
        ...withCode(code),
      }),
  ],
  [
    'changing the email address',
    200,
    (token, code) =>
      panel.post('/auth/email', token, {
        email: `moved${++renamed}@example.com`,
        password: PASSWORD,
        ...withCode(code),
      }),
  ],
]

describe.each(acts)('%s', (_, success, act) => {
  async function newUser(): Promise<{ ada: Customer; app: Enrolled }> {
    const ada = await panel.customer()
    return { ada, app: await enrol(panel, ada.token) }
  }

  test('requires a code from a user with 2FA, and accepts each once', async () => {
    const { ada, app } = await newUser()
    const missing = await act(ada.token)
    expect([missing.status, missing.error, missing.message]).toEqual([
      401,
      '2fa_required',
      'Two-factor authentication code required',
    ])
    for (const wrong of ['000000', 'abc', '١٢٣٤٥٦', app.recoveryCodes[0]?.slice(1)]) {
      expect(await act(ada.token, wrong)).toMatchObject({ status: 401, error: 'invalid_2fa_code' })
    }
    const code = app.freshCode()
    expect((await act(ada.token, code)).status).toBe(success)
    expect(failuresOf(panel, ada.id)).toBe(0)
    const again = await panel.post('/auth/api-keys', ada.token, { name: 'Again', totp_code: code })
    expect(again.error).toBe('invalid_2fa_code')
  })

  test('accepts a recovery code too', async () => {
    const { ada, app } = await newUser()
    expect((await act(ada.token, app.recoveryCodes[3])).status).toBe(success)
  })

  test('requires none from other users, and ignores one', async () => {
    const { token } = await panel.customer()
    expect((await act(token, '123456')).status).toBe(success)
  })

  test.each([[123456], [''.padEnd(65, '1')], [['123456']], [null]])('refuses %j as a code', async (code) => {
    const { token } = await panel.customer()
    expect([400, 422]).toContain((await act(token, code)).status)
  })

  test('is throttled like a login: wrong codes count, and after too many even a right one is refused', async () => {
    const { ada, app } = await newUser()
    await act(ada.token, '000000')
    expect(failuresOf(panel, ada.id)).toBe(1)
    setFailures(panel, ada.id, 20)
    expect((await act(ada.token, app.freshCode())).status).toBe(401)
    setFailures(panel, ada.id, 0)
    expect((await act(ada.token, app.freshCode())).status).toBe(success)
  })
})

test('a right code is not spent by a request that fails for another reason', async () => {
  const ada = await panel.customer()
  const { freshCode } = await enrol(panel, ada.token)
  const totp_code = freshCode()
  const past = new Date(panel.clock.now() - 1000).toISOString()
  expect((await panel.post('/auth/api-keys', ada.token, { name: 'X', totp_code, expires_at: past })).status).toBe(422)
  expect((await panel.post('/auth/api-keys', ada.token, { name: 'X', totp_code })).status).toBe(201)
})

test('of ten parallel requests with one code, one creates a key', async () => {
  const ada = await panel.customer()
  const { freshCode } = await enrol(panel, ada.token)
  const totp_code = freshCode()
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => panel.post('/auth/api-keys', ada.token, { name: 'X', totp_code })),
  )
  expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(401)])
})
