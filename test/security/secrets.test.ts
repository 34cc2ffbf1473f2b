/** Canaries: secrets that pass through every kind of request, and are then looked for wherever they must not be. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { TOTP } from 'otpauth'
import { createTestLog } from '../harness/log.ts'
import { PASSWORD, usePanel } from '../harness/panel.ts'

const log = createTestLog()
const panel = await usePanel({}, log)
const ada = await panel.customer()
await panel.subscription(ada.id)

/** Everything that a backup of the data directory would hold, the two key files aside. */
function storedBytes(): string {
  return readdirSync(panel.data, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !['jwt.key', 'totp.key', 'initial-admin-password'].includes(entry.name))
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'))
    .join('')
}

/**
 * @see paperclip#4759, casdoor#3573, cloudstack#9512, comp#3512: bodies of failed logins and URLs were logged in clear
 * @see Pterodactyl 1.11.8: the request that switched 2FA off was logged with its password
 */
describe('a secret', () => {
  const canary = (name: string) => `canary ${name} 8f3a61`
  const secrets: Record<string, string> = {
    'of a failed login': canary('wrong password'),
    'of a malformed login': canary('malformed'),
    'in a query': 'canary-query-8f3a61',
    'in a path': 'canary-path-8f3a61',
    'in a header': 'canary-header-8f3a61',
    'as a bad key': `ncp_${'c4'.repeat(32)}`,
    'as a new password': canary('new password'),
    'as a code': '048151',
  }
  beforeAll(async () => {
    const of = (name: string) => secrets[name] ?? ''
    const login = (body: object) => panel.post('/auth/login', undefined, body)
    await login({ email: ada.email, password: of('of a failed login') })
    await login({ email: ada.email, password: [of('of a malformed login')] })
    await panel.send('POST', '/auth/login', { rawBody: `{"password":"${of('of a malformed login')}` })
    await panel.get(`/sites?token=${of('in a query')}`, ada.token)
    await panel.get(`/sites?access_token=${of('in a query')}`)
    await panel.get(`/sites/${of('in a path')}`, ada.token)
    await panel.get(`/${of('in a path')}`)
    await panel.send('GET', '/sites', { headers: { 'x-api-key': of('in a header'), cookie: of('in a header') } })
    await panel.get('/sites', of('as a bad key'))
    const change = { current_password: PASSWORD, new_password: of('as a new password') }
    expect((await panel.post('/auth/password', ada.token, change)).status).toBe(200)

    const password = of('as a new password')
    const setup = await panel.post<{ secret: string }>('/auth/2fa/setup', ada.token, { password })
    secrets['as a seed'] = setup.data.secret
    const totp_code = new TOTP({ secret: setup.data.secret }).generate({ timestamp: panel.clock.now() })
    const enabled = await panel.post<{ recovery_codes: string[] }>('/auth/2fa/enable', ada.token, { totp_code })
    secrets['as a recovery code'] = enabled.data.recovery_codes[0] ?? ''
    secrets['as a recovery code without separators'] = secrets['as a recovery code'].replaceAll('-', '')
    await login({ email: ada.email, password, totp_code: of('as a code') })
    await panel.post('/auth/2fa/disable', ada.token, { password, totp_code: of('as a code') })

    const bob = await panel.customer()
    secrets['as a key'] = await panel.key(bob.token)
    secrets['as a JWT'] = ada.token
    const body = { email: 'invited@example.com', name: 'New', role: 'customer' }
    const made = await panel.post<{ activation: { token: string } }>('/admin/users', await panel.admin(), body)
    secrets['as an activation'] = made.data.activation.token
    secrets['as the first administrator’s password'] = panel.adminPassword()
    await panel.services.outbox.deliver()
  })

  test('appears neither in the log nor in the stored files, wherever it was sent', () => {
    const bytes = storedBytes()
    expect(bytes).toContain(ada.email)
    for (const [name, secret] of Object.entries(secrets)) {
      expect([name, secret.length > 5]).toEqual([name, true])
      // Six digits are found by chance in any large file.
      const isStored = name !== 'as a code' && bytes.includes(secret)
      expect([name, log.text().includes(secret), isStored]).toEqual([name, false, false])
    }
  })

  test('appears in no error, however its request fails', async () => {
    const secret = 'canary-error-8f3a61'
    const requests: [string, string, object][] = [
      ['POST', '/auth/login', { rawBody: `{"password": "${secret}` }],
      ['POST', '/auth/login', { body: { email: secret, password: secret } }],
      ['POST', '/auth/login', { body: { [secret]: secret } }],
      ['POST', '/auth/password-reset/confirm', { body: { token: secret, password: secret } }],
      ['POST', '/auth/api-keys', { as: ada.token, body: { name: 'x', expires_at: secret } }],
      ['POST', '/sites', { as: ada.token, body: { domain: `${secret}!` } }],
      ['GET', `/sites?cursor=${secret}`, { as: ada.token }],
      ['GET', `/sites/${secret}`, { as: ada.token }],
      ['GET', `/${secret}`, {}],
    ]
    for (const [method, path, options] of requests) {
      const answer = await panel.send(method, path, options)
      expect(answer.status).toBeGreaterThanOrEqual(400)
      // A field's name comes back while it is a plain word, for the one who mistyped it; a value never does.
      expect([path, answer.message.replace(`${secret}: is not a known field`, '')]).not.toContain(secret)
    }
  })
})

/** @see CyberPanel#1771, CVE-2023-35885: one secret for all installations was one for all attackers */
test('keys and tokens are 256 random bits, no two alike', async () => {
  await panel.patch('/admin/settings', await panel.admin(), { max_api_keys_per_user: 100 })
  const { token } = await panel.customer()
  const keys = await Promise.all(Array.from({ length: 100 }, () => panel.key(token)))
  expect(new Set(keys).size).toBe(100)
  // Each of 16 digits about as often as the others: 6,400 digits, chi-square with 15 degrees of freedom, p = 1e-9.
  const counts = new Map<string, number>()
  for (const digit of keys.join('').replaceAll('ncp_', '')) counts.set(digit, (counts.get(digit) ?? 0) + 1)
  const expected = (100 * 64) / 16
  const chiSquare = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
  expect(counts.size).toBe(16)
  expect(chiSquare).toBeLessThan(77)
})
