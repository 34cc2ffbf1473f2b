/** Which credentials open the door, and which are only sent to try it. */
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { base64url, decodeJwt, SignJWT } from 'jose'
import { usePanel } from '../harness/panel.ts'

const panel = await usePanel()
const ada = await panel.customer()
await panel.subscription(ada.id)
const key = await panel.key(ada.token)

const withHeader = (authorization: string, path = '/sites') => panel.send('GET', path, { headers: { authorization } })

describe('the Authorization header', () => {
  test.each(['Bearer ', 'bearer ', 'BEARER ', 'Bearer   '])('is read with the scheme as %j', async (scheme) => {
    expect((await withHeader(scheme + key)).status).toBe(200)
    expect((await withHeader(scheme + ada.token)).status).toBe(200)
  })

  test('is challenged without an error code when absent, and with one when wrong', async () => {
    const absent = await panel.get('/sites')
    expect([absent.status, absent.error, absent.message]).toEqual([401, 'not authenticated', 'Authentication required'])
    expect(absent.headers.get('www-authenticate')).toBe('Bearer realm="ncp"')
    const wrong = await panel.get('/sites', `ncp_${'0'.repeat(64)}`)
    expect([wrong.status, wrong.error, wrong.message]).toEqual([401, 'not authenticated', 'Authentication required'])
    expect(wrong.headers.get('www-authenticate')).toBe('Bearer realm="ncp", error="invalid_token"')
  })

  test('is refused in every other form', async () => {
    const shapes = [
      'Bearer',
      'Bearer ',
      `Bearer${key}`,
      `BearerX${key}`,
      `Basic ${btoa(`user:${key}`)}`,
      `Token ${key}`,
      key,
      `Bearer ${key} ${key}`,
      `Bearer ${key}, Bearer ${key}`,
      `Bearer "${key}"`,
      `Bearer ${key}é`,
      `Bearer ${'x'.repeat(10_000)}`,
      'Bearer null',
      'Bearer a.b',
      'Bearer a.b.c.d.e',
    ]
    for (const shape of shapes) expect([shape, (await withHeader(shape)).status]).toEqual([shape, 401])
  })

  test('is the only place: a query, a body, a cookie or another header carries no credential', async () => {
    for (const name of ['access_token', 'token', 'api_key', 'key']) {
      expect((await panel.get(`/sites?${name}=${key}`)).status).toBe(401)
    }
    expect((await panel.post('/sites', undefined, { domain: 'a.example', access_token: key })).status).toBe(401)
    for (const name of ['x-api-key', 'cookie', 'proxy-authorization', 'x-user-id', 'x-original-url']) {
      expect((await panel.send('GET', '/sites', { headers: { [name]: `Bearer ${key}` } })).status).toBe(401)
    }
  })

  test('with a valid credential beside another in the query is refused', async () => {
    expect((await panel.get(`/sites?access_token=${key}`, key)).status).toBe(422)
    // A malformed header beside a good credential in the query must not let the query through.
    expect(
      (await panel.send('GET', `/auth/me?access_token=${key}`, { headers: { authorization: 'Basic x' } })).status,
    ).toBe(401)
  })
})

describe('an API key', () => {
  test('is refused in any other form, without a database query', async () => {
    for (const value of [
      key.toUpperCase(),
      key.slice(0, -1),
      `${key}0`,
      `${key.slice(0, -1)}g`,
      key.replace('ncp_', 'ncp-'),
    ]) {
      expect((await panel.get('/sites', value)).status).toBe(401)
    }
  })
})

describe('a JWT', () => {
  const secret = () => new TextEncoder().encode(readFileSync(`${panel.data}/jwt.key`, 'utf8').trim())
  type Claims = Record<string, unknown>

  /** Signed with the real secret, so that only what the test changes is wrong. */
  function forge(change: Claims, header: Record<string, unknown> = {}, by: Uint8Array = secret()): Promise<string> {
    const claims = { ...decodeJwt(ada.token), ...change }
    for (const [name, value] of Object.entries(claims)) if (value === undefined) delete claims[name]
    return new SignJWT(claims).setProtectedHeader({ alg: 'HS256', typ: 'JWT', ...header }).sign(by)
  }

  const unsigned = (alg: string) => {
    const header = base64url.encode(JSON.stringify({ alg, typ: 'JWT' }))
    return `${header}.${ada.token.split('.')[1]}.`
  }

  test('signed by hand with the secret and the right claims would pass, so the refusals below have the stated reason', async () => {
    expect((await panel.get('/sites', await forge({}))).status).toBe(200)
  })

  test.each(['none', 'None', 'nOnE', 'NONE', '', 'HS256'])('with alg %j and no signature is refused', async (alg) => {
    expect((await panel.get('/sites', unsigned(alg))).status).toBe(401)
  })

  test.each(['HS384', 'HS512'])('signed with %s is refused', async (alg) => {
    expect((await panel.get('/sites', await forge({}, { alg }))).status).toBe(401)
  })

  const now = () => Math.floor(panel.clock.now() / 1000)
  test.each<[string, () => Claims]>([
    ['without exp', () => ({ exp: undefined })],
    ['without iat', () => ({ iat: undefined })],
    ['without sub', () => ({ sub: undefined })],
    ['without jti', () => ({ jti: undefined })],
    ['without iss', () => ({ iss: undefined })],
    ['without aud', () => ({ aud: undefined })],
    ['of another issuer', () => ({ iss: 'evil' })],
    ['for another audience', () => ({ aud: 'other' })],
    ['that has expired', () => ({ exp: now() - 1 })],
    ['that expires now', () => ({ exp: now() })],
    ['with exp as text', () => ({ exp: '9999999999' })],
    ['that is not valid yet', () => ({ nbf: now() + 3600 })],
    ['of another user', () => ({ sub: '1' })],
    ['of no user', () => ({ sub: 'ada' })],
    ['of an unknown session', () => ({ jti: 'x' })],
    ['with a list as session', () => ({ jti: ['x'] })],
  ])('%s is refused', async (_, change) => {
    expect((await panel.get('/sites', await forge(change()))).status).toBe(401)
  })

  test('with a role claim gains no role', async () => {
    expect((await panel.get('/admin/users', await forge({ role: 'admin' }))).status).toBe(403)
  })

  test('with headers that name a key, an unknown critical header or another type is refused or unaffected', async () => {
    expect((await panel.get('/sites', await forge({}, { typ: 'at+jwt' }))).status).toBe(401)
    await expect(forge({}, { crit: ['x'], x: 1 })).rejects.toThrow()
    for (const header of [{ kid: "' OR 1=1" }, { jku: 'https://evil.example' }, { jwk: { kty: 'oct', k: 'AAAA' } }]) {
      expect((await panel.get('/sites', await forge({}, header))).status).toBe(200)
    }
  })

  test('signed with another secret, including an empty and a known one, is refused', async () => {
    for (const text of ['secret', 'changeme', 'x'.repeat(64), '\0']) {
      expect((await panel.get('/sites', await forge({}, {}, new TextEncoder().encode(text)))).status).toBe(401)
    }
  })

  test('with a changed payload or signature is refused', async () => {
    const [header, payload = '', signature = ''] = ada.token.split('.')
    const changed = base64url.encode(JSON.stringify({ ...decodeJwt(ada.token), sub: '1' }))
    expect((await panel.get('/sites', `${header}.${changed}.${signature}`)).status).toBe(401)
    const flipped = (signature.startsWith('A') ? 'B' : 'A') + signature.slice(1)
    expect((await panel.get('/sites', `${header}.${payload}.${flipped}`)).status).toBe(401)
  })
})
