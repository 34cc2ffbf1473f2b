/** Passwords at their edges: none is cut short, none is too odd to log in with, and none costs more than one hash. */
import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { availableParallelism } from 'node:os'
import { createPasswords } from '../../src/crypto/passwords.ts'
import { usePanel } from '../harness/panel.ts'
import { until } from '../harness/until.ts'

const panel = await usePanel({ hasRealHashes: true })
const ada = await panel.customer()

const login = (password: string, email = ada.email) => panel.post('/auth/login', undefined, { email, password })

async function withPassword(password: string): Promise<string> {
  const { token, email } = await panel.customer()
  const body = { current_password: 'correct horse battery staple', new_password: password }
  expect((await panel.post('/auth/password', token, body)).status).toBe(200)
  return email
}

/** @see bcrypt-ruby#283, oven-sh/bun#9010: bcrypt reads 72 bytes and forgets the rest */
describe('a long password', () => {
  const long = `${'wxyz '.repeat(51)}!`

  test('counts to its last character', async () => {
    const email = await withPassword(long)
    expect([long.length, (await login(long, email)).status]).toEqual([256, 200])
    expect((await login(`${long.slice(0, 72)}${'-'}${long.slice(73)}`, email)).status).toBe(401)
    expect((await login(`${long.slice(0, -1)}?`, email)).status).toBe(401)
    expect((await login(long.slice(0, -1), email)).status).toBe(401)
    expect((await login(long.slice(0, 72), email)).status).toBe(401)
  })

  /** @see CVE-2013-1443, AwakeMUD#144: a megabyte of password kept the hash busy */
  test('beyond the maximum costs no hash, and a megabyte is not even read', async () => {
    const before = panel.services.passwords.hashed
    expect((await login('x'.repeat(257))).status).toBe(422)
    expect((await login('x'.repeat(60_000))).status).toBe(422)
    expect((await login('x'.repeat(1_000_000))).status).toBe(413)
    expect(panel.services.passwords.hashed).toBe(before)
  })
})

/** @see CyberPanel#1896: a sanitiser took `$`, `|`, `;` and `&` out of passwords, whose owners were locked out */
test('a password of every printable ASCII character logs in, exactly as it was set', async () => {
  const printable = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('')
  const email = await withPassword(printable)
  expect((await login(printable, email)).status).toBe(200)
  for (const other of [printable.trim(), printable.toLowerCase(), printable.replace('$', ''), `${printable} `]) {
    expect((await login(other, email)).status).toBe(401)
  }
})

/** @see model-hotel#552: anyone who could write a stored hash chose how much memory the next login took */
describe('a stored hash', () => {
  test('that requires more memory or time than any of ours is not computed', async () => {
    const passwords = createPasswords({ concurrent: 1, queued: 1 })
    const hash = await passwords.hash('a password')
    for (const costs of ['m=4194304,t=2', 'm=9999999,t=2', 'm=19456,t=99', 'm=19456,t=4294967295']) {
      const bomb = hash.replace('m=19456,t=2', costs)
      expect(await passwords.verify('a password', 'unknown', async () => bomb)).toBeUndefined()
    }
    expect(await passwords.verify('a password', 'unknown', async () => hash)).toBe(hash)
  })

  test('of another algorithm lets no one in', async () => {
    const stored = [
      await Bun.password.hash('a password', { algorithm: 'bcrypt', cost: 4 }),
      await Bun.password.hash('a password', { algorithm: 'argon2i', memoryCost: 8, timeCost: 1 }),
      'a password',
      Bun.SHA256.hash('a password', 'hex'),
    ]
    const bob = await panel.customer()
    for (const hash of stored) {
      using database = new Database(`${panel.data}/ncp.db`)
      database.query('UPDATE users SET password_hash = ? WHERE id = ?').run(hash, bob.id)
      expect((await login('a password', bob.email)).status).toBe(401)
    }
  })
})

/** @see RackulaLives#2921, argon2id#35, keycloak#28477: the place in the queue was given up when the client hung up */
test('a client that hangs up keeps its place in the queue until its hash is done', async () => {
  const bob = await panel.customer()
  const before = panel.services.passwords.hashed
  const body = JSON.stringify({ email: bob.email, password: 'wrong password' })
  const headers = { 'content-type': 'application/json' }
  // One attempt fewer than an account takes at once.
  const hungUp = Array.from({ length: 9 }, async () => {
    const controller = new AbortController()
    const sent = fetch(`${panel.origin}/api/v1/auth/login`, {
      method: 'POST',
      headers,
      body,
      signal: controller.signal,
    })
    await Promise.race([sent, Promise.resolve()])
    controller.abort()
    return sent.catch(() => undefined)
  })
  await Promise.all(hungUp)
  expect((await login('correct horse battery staple', bob.email)).status).toBe(200)
  expect(panel.services.passwords.hashed - before).toBeLessThanOrEqual(10)
})

/** @see ASVS V15.2.2: what costs much must not be what strangers can use up for all others */
test('a flood of logins from many addresses locks out neither known clients nor sessions', async () => {
  const { passwords } = panel.services
  const home = '203.0.113.77'
  const body = { email: ada.email, password: 'correct horse battery staple' }
  const loginFrom = (from: string) => panel.send('POST', '/auth/login', { body, from })
  expect((await loginFrom(home)).status).toBe(200)
  // Those who hung up in another test have places until their hashes are done.
  await until('an empty queue', () => passwords.running === 0)

  // Strangers at every place, of whom none leaves before all others have come.
  const { promise: theEnd, resolve: end } = Promise.withResolvers<null>()
  const places = availableParallelism() + 1 + 128
  const flood = Array.from({ length: places }, () => passwords.verify('x', 'unknown', () => theEnd))
  const again = loginFrom(home)
  const change = panel.post('/auth/password', ada.token, {
    current_password: 'x',
    new_password: 'an altogether other one',
  })
  await until('the two in a line of their own', () => passwords.waiting === 130)
  const elsewhere = await loginFrom('203.0.113.78')
  expect([elsewhere.status, elsewhere.headers.get('retry-after')]).toEqual([503, '2'])

  end(null)
  expect([(await again).status, (await change).error]).toEqual([200, 'invalid credentials'])
  await Promise.all(flood)
  expect((await loginFrom('203.0.113.78')).status).toBe(200)
}, 600_000)
