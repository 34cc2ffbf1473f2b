/** Writes that have to wait: each until five seconds after it was asked for, and no more than a thousand of them. */
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type AppError, catalogue } from '../../src/core/errors.ts'
import { openStore } from '../../src/db/sqlite/store.ts'
import type { Store } from '../../src/db/store.ts'
import { settings } from '../../src/db/tables.ts'
import { newDirectory } from '../harness/directory.ts'
import { mapsIndex } from '../harness/workarounds.ts'

const MOST_WAITING = 1000

let directory: string
let store: Store
let other: Database
beforeEach(() => {
  directory = newDirectory()
  store = openStore(join(directory, 'ncp.db'), 0, { mapsIndex })
  other = new Database(join(directory, 'ncp.db'))
  other.run('BEGIN IMMEDIATE')
})
afterEach(async () => {
  other.close()
  await store.close()
  rmSync(directory, { recursive: true })
})

const write = (key: string) =>
  store.write((tx) => tx.insert(settings).values({ key, value: '1', updatedAt: 0 })).then(() => key)
const failure = (write: Promise<unknown>): Promise<AppError> =>
  write.then(
    () => expect.unreachable(),
    (error) => error,
  )

/** The writer's clock, which stands still until it is moved. */
function stopTheClock() {
  let now = 0
  const clock = spyOn(performance, 'now').mockImplementation(() => now)
  return {
    advance(ms: number): void {
      now += ms
    },
    looks: () => clock.mock.calls.length,
    [Symbol.dispose]: () => clock.mockRestore(),
  }
}

test('a write is refused after five seconds, and not before', async () => {
  using clock = stopTheClock()
  let isRefused = false
  const refused = failure(write('patient')).finally(() => {
    isRefused = true
  })
  const looks = clock.looks()
  clock.advance(4999)
  // It has seen that there is time left, and tried for the lock again.
  while (!isRefused && clock.looks() < looks + 2) await Bun.sleep(1)
  expect(isRefused).toBe(false)
  clock.advance(1)
  expect(await refused).toMatchObject({ code: 'unavailable', headers: { 'retry-after': '2' } })
})

test('a write that was queued with a timed-out one does not wait all over again', async () => {
  using clock = stopTheClock()
  const first = failure(write('first'))
  const others = ['second', 'third'].map((key) => failure(write(key)))
  clock.advance(5000)
  expect(await first).toMatchObject({ code: 'unavailable', headers: { 'retry-after': '2' } })
  // One that waited all over again would wait for ever: its clock stands still.
  for (const refused of await Promise.all(others)) expect(refused.code).toBe('unavailable')
  other.run('ROLLBACK')
  expect(await write('later')).toBe('later')
})

test('more than a thousand waiting writes are refused at once, and those before them are written', async () => {
  const first = write('first')
  // It has its turn, and waits for the lock.
  await Bun.sleep(0)
  const written = Array.from({ length: MOST_WAITING }, (_, i) => write(`${i}`))
  const refused = await failure(write('beyond'))
  expect([refused.code, refused.message, refused.headers['retry-after']]).toEqual([
    'unavailable',
    catalogue.unavailable.message,
    '2',
  ])
  other.run('ROLLBACK')
  expect(await first).toBe('first')
  expect(await Promise.all(written)).toHaveLength(MOST_WAITING)
  expect(await write('after')).toBe('after')
})

test('closing a store first writes the waiting writes', async () => {
  const written = Array.from({ length: 50 }, (_, i) => write(`${i}`))
  await Bun.sleep(0)
  const closing = store.close()
  other.run('ROLLBACK')
  await closing
  expect(await Promise.all(written)).toHaveLength(50)
  expect(other.query('SELECT count(*) AS n FROM settings').get()).toEqual({ n: 50 })
  store = openStore(join(directory, 'ncp.db'), 0, { mapsIndex })
})
