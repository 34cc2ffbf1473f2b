/** The response to an invalid credential: always the contract's envelope, and a reason if the secret is right. */
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { decodeJwt, SignJWT } from 'jose'
import type { ServedRequest } from '../../src/core/served-request.ts'
import { createTestLog } from '../harness/log.ts'
import { type RequestOptions, usePanel } from '../harness/panel.ts'

const served: ServedRequest[] = []
const log = { ...createTestLog(), request: (request: ServedRequest) => served.push(request) }

const panel = await usePanel({}, log)
const ada = await panel.customer()
await panel.subscription(ada.id)

const after = (seconds: number) => new Date(panel.clock.now() + seconds * 1000).toISOString()
const SEND = 'Send the credential as Authorization: Bearer <JWT or API key>'

/** @returns the challenge and the reason in the log of a request that is refused with the contract's envelope */
async function refused(options: RequestOptions) {
  const { status, error, message, headers } = await panel.send('GET', '/sites', options)
  expect([status, error, message]).toEqual([401, 'not authenticated', 'Authentication required'])
  return [headers.get('www-authenticate'), served.at(-1)?.rejected]
}

const invalid = (description?: string) =>
  `Bearer realm="ncp", error="invalid_token"${description === undefined ? '' : `, error_description="${description}"`}`

describe('a client with the right secret is told', () => {
  test('when the API key expired', async () => {
    const end = after(60)
    const as = await panel.key(ada.token, { expires_at: end })
    panel.clock.advance(60)
    expect(await refused({ as })).toEqual([invalid(`The API key expired at ${end}`), 'expired'])
  })

  test('until when the secret of a rotated API key worked', async () => {
    const { data } = await panel.post<{ id: number; key: string }>('/auth/api-keys', ada.token, { name: 'Rotated' })
    await panel.post(`/auth/api-keys/${data.id}/rotate`, ada.token, { grace_seconds: 30 })
    const end = after(30)
    panel.clock.advance(31)
    expect(await refused({ as: data.key })).toEqual([
      invalid(`The API key was rotated; this secret worked until ${end}`),
      'rotated',
    ])
  })

  test('that the user of the API key is disabled', async () => {
    const bob = await panel.customer()
    const as = await panel.key(bob.token)
    await panel.patch(`/admin/users/${bob.id}`, await panel.admin(), { status: 'disabled' })
    expect(await refused({ as })).toEqual([invalid('The user of this credential is disabled'), 'user_disabled'])
  })

  test('that the session of the JWT has ended', async () => {
    const as = await panel.login(ada.email)
    await panel.post('/auth/logout', as)
    expect(await refused({ as })).toEqual([invalid('The session of this JWT has ended; log in again'), 'session_ended'])
  })

  test('when the JWT expired, also after its session was swept', async () => {
    const bob = await panel.customer()
    const end = new Date((decodeJwt(bob.token).exp ?? 0) * 1000).toISOString()
    panel.clock.advance(86_400)
    const expected = [invalid(`The JWT expired at ${end}; log in again`), 'expired']
    expect(await refused({ as: bob.token })).toEqual(expected)
    // A login sweeps the sessions that have expired.
    ada.token = await panel.login(ada.email)
    expect(await refused({ as: bob.token })).toEqual(expected)
  })
})

describe('a stranger is told nothing', () => {
  test('about an API key that differs in one digit from an expired one', async () => {
    const key = await panel.key(ada.token, { expires_at: after(60) })
    panel.clock.advance(60)
    const as = key.slice(0, -1) + (key.endsWith('0') ? '1' : '0')
    expect(await refused({ as })).toEqual([invalid(), 'unknown'])
  })

  test('about a deleted API key', async () => {
    const { data } = await panel.post<{ id: number; key: string }>('/auth/api-keys', ada.token, { name: 'Deleted' })
    await panel.delete(`/auth/api-keys/${data.id}`, ada.token)
    expect(await refused({ as: data.key })).toEqual([invalid(), 'unknown'])
  })

  test('about a forged JWT, whatever it claims about its end or its session', async () => {
    const claims = decodeJwt(ada.token)
    const sign = (change: object, secret: Uint8Array) =>
      new SignJWT({ ...claims, ...change }).setProtectedHeader({ alg: 'HS256', typ: 'JWT' }).sign(secret)
    const forger = new Uint8Array(32)
    for (const change of [{ exp: 1 }, { exp: -1 }, { exp: 0.5 }, { exp: 1e300 }, { exp: '1' }, { jti: 'x' }]) {
      expect(await refused({ as: await sign(change, forger) })).toEqual([invalid(), 'unknown'])
    }
    const ours = new TextEncoder().encode(readFileSync(`${panel.data}/jwt.key`, 'utf8').trim())
    expect(await refused({ as: await sign({ exp: 1 }, ours) })).toEqual([
      invalid('The JWT expired at 1970-01-01T00:00:01.000Z; log in again'),
      'expired',
    ])
  })

  test('about a request without a credential', async () => {
    expect(await refused({})).toEqual(['Bearer realm="ncp"', undefined])
  })
})

describe('a hint on how to send a credential is given for', () => {
  test.each<[string, (key: string) => Record<string, string>]>([
    ['X-API-Key', (key) => ({ 'x-api-key': key })],
    ['Api-Key', (key) => ({ 'api-key': key })],
    ['X-Auth-Token', (key) => ({ 'x-auth-token': key })],
    ['Basic', (key) => ({ authorization: `Basic ${btoa(`ada:${key}`)}` })],
    ['Token', (key) => ({ authorization: `Token ${key}` })],
    ['a key without a scheme', (key) => ({ authorization: key })],
    ['an empty Authorization', () => ({ authorization: 'Bearer' })],
    ['a quotation mark in it', (key) => ({ authorization: `Bearer "${key}", x="` })],
  ])('%s', async (_, headers) => {
    const key = await panel.key(ada.token)
    expect(await refused({ headers: headers(key) })).toEqual([invalid(SEND), 'wrong_header'])
  })

  test('an API key altered or cut off on the way', async () => {
    const key = await panel.key(ada.token)
    for (const as of [key.slice(0, 20), `${key}0`, `ncp_${key.slice(4).toUpperCase()}x`]) {
      expect(await refused({ as })).toEqual([
        invalid('An API key is ncp_ and 64 hexadecimal digits in lower case'),
        'malformed',
      ])
    }
  })
})

test('a valid credential is accepted whatever other headers say', async () => {
  const answer = await panel.send('GET', '/sites', { as: ada.token, headers: { 'x-api-key': 'x' } })
  expect([answer.status, served.at(-1)?.rejected]).toEqual([200, undefined])
})

test('the explanation never contains the credential', async () => {
  const key = await panel.key(ada.token)
  for (const headers of [{ authorization: key }, { authorization: `Basic ${key}` }, { 'x-api-key': key }]) {
    const answer = await panel.send('GET', '/sites', { headers: headers as unknown as Record<string, string> })
    expect(JSON.stringify([...answer.headers])).not.toContain(key.slice(4, 20))
  }
})
