/** Guessing at one account from many addresses comes to an end, and its owner still gets in. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { availableParallelism } from 'node:os'
import { operator } from '../../../src/core/actor.ts'
import { type Customer, PASSWORD, type Panel, startPanel } from '../../harness/panel.ts'

const HOME = '203.0.113.1'
const ELSEWHERE = '198.51.100.7'

let panel: Panel
let ada: Customer
beforeAll(async () => {
  panel = await startPanel()
})
afterAll(() => panel.stop())

const login = (from: string, password = PASSWORD, email = ada.email) =>
  panel.send('POST', '/auth/login', { body: { email, password }, from })

/** As if so many guesses had been made before: making them would take a hash each. */
function setFailures(count: number, table: 'users' | 'known_addresses' = 'users'): void {
  using database = new Database(`${panel.data}/ncp.db`)
  const column = table === 'users' ? 'id' : 'user_id'
  database.query(`UPDATE ${table} SET failed_attempts = ? WHERE ${column} = ?`).run(count, ada.id)
}
function failures(): number {
  using database = new Database(`${panel.data}/ncp.db`)
  const row = database.query<{ n: number }, [number]>('SELECT failed_attempts AS n FROM users WHERE id = ?').get(ada.id)
  return row?.n ?? -1
}

/** A customer who has logged in from home. */
async function newAda(): Promise<void> {
  ada = await panel.customer()
  await login(HOME)
}

describe('an account', () => {
  test('counts failed attempts of every kind, and forgets them at a login', async () => {
    await newAda()
    await login(ELSEWHERE, 'wrong password')
    await login('198.51.100.8', '')
    await panel.post('/auth/password', ada.token, { current_password: 'wrong', new_password: 'a long enough one' })
    expect(failures()).toBe(3)
    expect((await login(HOME)).status).toBe(200)
    expect(failures()).toBe(0)
  })

  test('is closed to strangers after 100 failures, in the same words and at the same cost as before', async () => {
    await newAda()
    setFailures(99)
    const before = await login(ELSEWHERE, 'wrong password')
    const hashes = panel.context.passwords.hashed
    const after = await login(ELSEWHERE)
    expect([after.status, after.error, after.message]).toEqual([before.status, before.error, before.message])
    expect(panel.context.passwords.hashed - hashes).toBe(1)
  })

  test('stays open to an address that it was logged in from lately, which opens it to all again', async () => {
    await newAda()
    setFailures(100)
    expect((await login(ELSEWHERE)).status).toBe(401)
    expect((await login(HOME)).status).toBe(200)
    expect((await login(ELSEWHERE)).status).toBe(200)
  })

  test('is closed to a known address too after 100 failures from there', async () => {
    await newAda()
    setFailures(100)
    setFailures(99, 'known_addresses')
    expect((await login(HOME, 'wrong password')).status).toBe(401)
    expect((await login(HOME)).status).toBe(401)
  })

  test('does not know an address any more after 30 days', async () => {
    await newAda()
    setFailures(100)
    panel.clock.advance(31 * 24 * 60 * 60)
    expect((await login(HOME)).status).toBe(401)
  })

  test('is closed exactly, also to parallel guesses', async () => {
    await newAda()
    setFailures(95)
    await Promise.all(Array.from({ length: 10 }, (_, i) => login(`198.51.100.${i}`, 'wrong password')))
    expect(failures()).toBe(100)
  })

  test('keeps its count over a restart of the panel', async () => {
    await newAda()
    setFailures(100)
    const again = await startPanel({ data: panel.data })
    try {
      const body = { email: ada.email, password: PASSWORD }
      expect((await again.send('POST', '/auth/login', { body, from: ELSEWHERE })).status).toBe(401)
    } finally {
      await again.stop()
    }
  })

  test('is opened again by the command line’s unlock', async () => {
    await newAda()
    setFailures(100)
    await panel.context.throttle.unlock(operator, ada.id)
    expect((await login(ELSEWHERE)).status).toBe(200)
  })

  test('knows the address that it was activated from, so that no stranger can close it to a new owner', async () => {
    const admin = await panel.admin()
    const invited = await panel.post<{ id: number; activation: { token: string } }>('/admin/users', admin, {
      email: 'newcomer@example.com',
      name: 'New',
      role: 'customer',
    })
    ada = { ...ada, id: invited.data.id, email: 'newcomer@example.com' }
    const body = { token: invited.data.activation.token, password: PASSWORD }
    expect((await panel.send('POST', '/auth/password-reset/confirm', { body, from: HOME })).status).toBe(200)
    setFailures(100)
    expect((await login(ELSEWHERE)).status).toBe(401)
    expect((await login(HOME)).status).toBe(200)
  })

  test('does not count attempts that were turned away unread', async () => {
    await newAda()
    // More than may be hashed and wait at one time.
    const attempts = availableParallelism() + 150
    const answers = await Promise.all(Array.from({ length: attempts }, () => login(ELSEWHERE, 'wrong password')))
    const away = answers.filter(({ status }) => status === 503)
    expect(away.length).toBeGreaterThan(0)
    for (const { error, headers } of away) {
      expect([error, headers.get('retry-after')]).toEqual(['service unavailable', '2'])
    }
    expect(failures()).toBe(Math.min(attempts - away.length, 100))
  }, 120_000)

  test('of nobody costs the same, and its throttle is nobody’s', async () => {
    await newAda()
    const hashes = panel.context.passwords.hashed
    expect((await login(ELSEWHERE, PASSWORD, 'nobody@example.com')).status).toBe(401)
    expect(panel.context.passwords.hashed - hashes).toBe(1)
    expect((await login(ELSEWHERE)).status).toBe(200)
  })
})
