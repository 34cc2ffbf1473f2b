/** JWTs that only a forger would make: signed with the real secret by hand, so that only what a test changes is wrong. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { createHmac, generateKeyPairSync, sign as signWith } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { usePanel } from '../harness/panel.ts'

let claims: Record<string, unknown>
const panel = await usePanel()
const ada = await panel.customer()
beforeAll(async () => {
  claims = JSON.parse(Buffer.from(ada.token.split('.')[1] ?? '', 'base64url').toString())
})

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const secret = () => readFileSync(`${panel.data}/jwt.key`, 'utf8').trim()
const mac = (signed: string) => createHmac('sha256', secret()).update(signed).digest('base64url')
/** @param header and payload as they go over the wire */
const signed = (header: string, payload: string) => `${header}.${payload}.${mac(`${header}.${payload}`)}`
const HEADER = { alg: 'HS256', typ: 'JWT' }
const forged = (header: object, payload: object = claims) => signed(encode(header), encode(payload))
const statusWith = async (token: string) => (await panel.get('/auth/me', token)).status

test('signed by hand as the panel signs is accepted, so the refusals below have the stated reason', async () => {
  expect(await statusWith(forged(HEADER))).toBe(200)
})

/** @see RFC 7515 §4.1.11, RFC 8725 §3.2: what one does not understand and must understand, one refuses */
test.each<[string, object]>([
  ['an unknown critical header', { ...HEADER, crit: ['x'], x: 1 }],
  ['an unencoded payload', { ...HEADER, crit: ['b64'], b64: false }],
  ['an empty list of critical headers', { ...HEADER, crit: [] }],
  ['no algorithm', { typ: 'JWT' }],
  ['its algorithm in lower case', { ...HEADER, alg: 'hs256' }],
  ['a list of algorithms', { ...HEADER, alg: ['HS256'] }],
  ['an asymmetric algorithm', { ...HEADER, alg: 'RS256' }],
  ['the type of an OAuth access token', { ...HEADER, typ: 'at+jwt' }],
  ['no type', { alg: 'HS256' }],
])('with %s is refused', async (_, header) => {
  expect(await statusWith(forged(header))).toBe(401)
})

/** @see CVE-2026-22817, CVE-2026-22818: Hono took the algorithm from the token */
test('really signed with another algorithm is refused, whatever key it carries', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const jwk = publicKey.export({ format: 'jwk' })
  const content = `${encode({ alg: 'RS256', typ: 'JWT', jwk })}.${encode(claims)}`
  const signature = signWith('sha256', Buffer.from(content), privateKey).toString('base64url')
  expect(await statusWith(`${content}.${signature}`)).toBe(401)
})

/** @see RFC 8725 §3.10: headers that name a key are the attacker's input; the key is ours and nothing is fetched */
test('with headers that name a forger’s key is refused', async () => {
  const k = Buffer.alloc(32, 7)
  for (const header of [
    { ...HEADER, jwk: { kty: 'oct', k: k.toString('base64url') } },
    { ...HEADER, kid: '../../../../dev/null' },
    { ...HEADER, kid: "' UNION SELECT 'x" },
    { ...HEADER, jku: `${panel.origin}/jwks.json`, x5u: 'http://169.254.169.254/' },
  ]) {
    const content = `${encode(header)}.${encode(claims)}`
    for (const by of [k, '', 'x']) {
      expect(await statusWith(`${content}.${createHmac('sha256', by).update(content).digest('base64url')}`)).toBe(401)
    }
  }
})

describe('a claim', () => {
  const now = () => Math.floor(panel.clock.now() / 1000)
  test.each<[string, () => object]>([
    ['exp as true', () => ({ exp: true })],
    ['exp null', () => ({ exp: null })],
    ['exp in the past as a fraction', () => ({ exp: now() - 0.5 })],
    ['exp as a list', () => ({ exp: [now() + 60] })],
    ['aud as a list without ours', () => ({ aud: ['other'] })],
    ['aud empty', () => ({ aud: '' })],
    ['iss as a list', () => ({ iss: ['ncp'] })],
    ['nbf in an hour', () => ({ nbf: now() + 3600 })],
    ['sub as a float', () => ({ sub: '1.5' })],
    ['sub in hex', () => ({ sub: '0x1' })],
    ['sub as SQL', () => ({ sub: "1' OR '1'='1" })],
    ['jti as SQL', () => ({ jti: "x' OR '1'='1" })],
    ['jti empty', () => ({ jti: '' })],
    ['jti as an object', () => ({ jti: { $ne: null } })],
  ])('%s is refused', async (_, change) => {
    expect(await statusWith(forged(HEADER, { ...claims, ...change() }))).toBe(401)
  })
})

/** @see RFC 8725 §3.3, §3.7: another serialisation, encoding or nesting is no JWT of ours */
test('in any other form is refused', async () => {
  const [header = '', payload = '', signature = ''] = ada.token.split('.')
  const utf16 = (value: unknown) => Buffer.from(JSON.stringify(value), 'utf16le').toString('base64url')
  const forms = [
    `${header}.${payload}`,
    `${header}..${signature}`,
    `.${payload}.${signature}`,
    `${ada.token}.`,
    `${header}.${payload}.${signature}.x.y`,
    signed(utf16(HEADER), encode(claims)),
    signed(encode(HEADER), utf16(claims)),
    signed(encode(HEADER), Buffer.from(ada.token).toString('base64url')),
    signed(encode(HEADER), encode([claims])),
    signed(encode(HEADER), encode(null)),
    signed(encode(HEADER), ''),
    encode({ protected: header, payload, signature }),
    `${header}=.${payload}.${signature}`,
  ]
  for (const form of forms) expect([form, await statusWith(form)]).toEqual([form, 401])
})

/**
 * The last character of a signature carries unused bits, so a token has several spellings. Revocation goes by `jti`.
 *
 * @see ASVS V7.4.1
 */
test('ended on logout is ended in all its spellings', async () => {
  const token = await panel.login(ada.email)
  const last = token.at(-1) ?? ''
  const spellings = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_']
    .filter((character) => character !== last)
    .map((character) => token.slice(0, -1) + character)
  expect(await statusWith(token)).toBe(200)
  expect((await panel.post('/auth/logout', token)).status).toBe(200)
  for (const spelling of [token, ...spellings]) expect(await statusWith(spelling)).toBe(401)
})
