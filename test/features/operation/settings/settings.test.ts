/** The settings of an installation, which administrators read and change. */
import { describe, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { decodeJwt } from 'jose'
import { newDirectory } from '../../../harness/directory.ts'
import { startPanel, usePanel } from '../../../harness/panel.ts'

/** The defaults. */
const DEFAULTS = {
  jwt_ttl_seconds: 86_400,
  require_2fa: 'nobody',
  audit_retention_days: 365,
  backup_interval_hours: 24,
  backup_keep: 7,
  max_api_keys_per_user: 50,
  require_code_for_api_keys: false,
  api_key_self_rotation: false,
  panel_name: null,
  language: 'en',
  time_zone: 'UTC',
  site_log_days: 14,
  site_log_addresses: 'full',
}
const RULE = 'jwt_ttl_seconds: must be from 60 to 2592000'

const panel = await usePanel()
const admin = await panel.admin()
const ada = await panel.customer()

const read = (as = admin) => panel.get<typeof DEFAULTS>('/admin/settings', as)
const change = (body: unknown, as = admin) => panel.patch<typeof DEFAULTS>('/admin/settings', as, body)
const secondsOf = (token: string) => (decodeJwt(token).exp ?? 0) - Math.floor(panel.clock.now() / 1000)

test('have defaults: a JWT is valid for a day, no one must enrol, the audit log goes back a year, backups a week', async () => {
  const fresh = await startPanel()
  const answer = await fresh.get('/admin/settings', await fresh.admin())
  expect([answer.status, answer.message, answer.data]).toEqual([200, '', DEFAULTS])
  await fresh.stop()
})

describe('jwt_ttl_seconds', () => {
  test.each([60, 61, 3600, 2_592_000])('may be %i, and takes effect at the next login', async (seconds) => {
    const before = await panel.login(ada.email)
    const validBefore = secondsOf(before)
    const answer = await change({ jwt_ttl_seconds: seconds })
    expect([answer.status, answer.message, answer.data]).toEqual([
      200,
      'Settings changed',
      { ...DEFAULTS, jwt_ttl_seconds: seconds },
    ])
    expect((await read()).data).toEqual({ ...DEFAULTS, jwt_ttl_seconds: seconds })
    expect(secondsOf(await panel.login(ada.email))).toBe(seconds)
    // A token that is out keeps what it was given.
    expect(secondsOf(before)).toBe(validBefore)
    expect((await panel.get('/auth/me', before)).status).toBe(200)
  })

  test('ends a session at that age', async () => {
    await change({ jwt_ttl_seconds: 60 })
    const token = await panel.login(ada.email)
    await change({ jwt_ttl_seconds: 2_592_000 })
    const long = await panel.login(ada.email)
    // Up to a second less: an expiry is a whole second.
    panel.clock.advance(58)
    expect((await panel.get('/auth/me', token)).status).toBe(200)
    panel.clock.advance(2)
    expect((await panel.get('/auth/me', token)).status).toBe(401)
    expect((await panel.get('/auth/me', long)).status).toBe(200)
  })

  test('is kept across a restart', async () => {
    const data = newDirectory()
    const first = await startPanel({ data })
    await first.patch('/admin/settings', await first.admin(), { jwt_ttl_seconds: 4711 })
    await first.stop()
    const second = await startPanel({ data })
    expect((await second.get('/admin/settings', await second.admin())).data).toEqual({
      ...DEFAULTS,
      jwt_ttl_seconds: 4711,
    })
    await second.stop()
    rmSync(data, { recursive: true, force: true })
  })

  test.each<[unknown, number, string]>([
    [{ jwt_ttl_seconds: 59 }, 422, RULE],
    [{ jwt_ttl_seconds: 2_592_001 }, 422, RULE],
    [{ jwt_ttl_seconds: 0 }, 422, RULE],
    [{ jwt_ttl_seconds: -86_400 }, 422, RULE],
    [{ jwt_ttl_seconds: 1e300 }, 422, RULE],
    [{ jwt_ttl_seconds: 90.5 }, 400, 'jwt_ttl_seconds: must be an integer'],
    [{ jwt_ttl_seconds: '3600' }, 400, 'jwt_ttl_seconds: must be an integer'],
    [{ jwt_ttl_seconds: null }, 400, 'jwt_ttl_seconds: must be an integer'],
    [{ jwt_ttl_seconds: true }, 400, 'jwt_ttl_seconds: must be an integer'],
    [{ jwt_ttl_seconds: [3600] }, 400, 'jwt_ttl_seconds: must be an integer'],
    [{ jwtTtlSeconds: 3600 }, 422, 'jwtTtlSeconds: is not a known field'],
    [{ jwt_ttl_seconds: 3600, jwt_secret: 'x' }, 422, 'jwt_secret: is not a known field'],
    [[], 400, 'body: must be an object'],
    ['text', 400, 'body: must be an object'],
    [undefined, 400, 'body: is required'],
  ])('stays unchanged after %j', async (body, status, message) => {
    const before = (await read()).data
    const answer = await change(body)
    expect([answer.status, answer.message]).toEqual([status, message])
    expect(answer.error).toBe(status === 400 ? 'bad request' : 'validation error')
    expect((await read()).data).toEqual(before)
  })
})

test('a customer may neither read nor change them', async () => {
  const before = (await read()).data
  const fresh = await panel.login(ada.email)
  for (const as of [fresh, await panel.key(fresh)]) {
    for (const answer of [await read(as), await change({ jwt_ttl_seconds: 60 }, as), await change({ x: 1 }, as)]) {
      expect([answer.status, answer.error, answer.message]).toEqual([
        403,
        'forbidden',
        'Only an administrator may do this',
      ])
    }
  }
  expect((await read()).data).toEqual(before)
})

test('nor may a client without a credential', async () => {
  expect((await panel.send('GET', '/admin/settings')).status).toBe(401)
  expect((await panel.send('PATCH', '/admin/settings', { body: { jwt_ttl_seconds: 60 } })).status).toBe(401)
})

test('an administrator’s API key may', async () => {
  const key = await panel.key(await panel.login('admin@localhost', panel.adminPassword()))
  expect((await change({ jwt_ttl_seconds: 86_400 }, key)).status).toBe(200)
  expect((await read(key)).data).toEqual(DEFAULTS)
})
