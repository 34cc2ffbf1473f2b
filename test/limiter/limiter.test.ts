/** The table of buckets: exact, bounded, and no help to a limited client. */
import { beforeEach, describe, expect, test } from 'bun:test'
import { createLimiter, type Limiter, type Policy } from '../../src/limiter/limiter.ts'
import { createTestClock, type TestClock } from '../harness/clock.ts'

const policy: Policy = { name: 'test', limit: 3, windowSeconds: 60 }
const MAX_BUCKETS = 100

let clock: TestClock
let limiter: Limiter
beforeEach(() => {
  clock = createTestClock(1_000_000_500)
  limiter = createLimiter({ clock, maxBuckets: MAX_BUCKETS })
})

const take = (key: string) => limiter.take(policy, key)
const exhaust = (key: string) => {
  for (let i = 0; i <= policy.limit; i++) take(key)
}
const flood = (count: number) => {
  for (let i = 0; i < count; i++) take(`flood ${i}`)
}

describe('a bucket', () => {
  test('starts full, is emptied by its limit, and reports when it is full again', () => {
    const verdicts = [take('a'), take('a'), take('a'), take('a')]
    expect(verdicts.map(({ allowed }) => allowed)).toEqual([true, true, true, false])
    expect(verdicts.map(({ remaining }) => remaining)).toEqual([2, 1, 0, 0])
    // Half a second past 1,000,000: the whole second at which it is surely full.
    expect(verdicts.map(({ resetAt }) => resetAt)).toEqual(Array(4).fill(1_000_061))
    expect(verdicts[3]?.retryAfter).toBe(60)
  })

  test('does not delay a client by the time that the clock was wrong', () => {
    exhaust('a')
    clock.advance(-3600)
    expect(take('a')).toMatchObject({ allowed: true, remaining: 2, resetAt: 1_000_000 - 3600 + 61 })
    // A correction of seconds frees no client.
    exhaust('a')
    clock.advance(1)
    expect(take('a').allowed).toBeFalse()
  })

  test('refills whole at its reset, not earlier and not gradually', () => {
    exhaust('a')
    clock.advance(59)
    expect(take('a').allowed).toBeFalse()
    clock.advance(1)
    expect(take('a')).toMatchObject({ allowed: true, remaining: 2 })
  })

  test('belongs to one key and one policy', () => {
    exhaust('a')
    expect(take('b').allowed).toBeTrue()
    expect(limiter.take({ ...policy, name: 'other' }, 'a').allowed).toBeTrue()
  })
})

describe('a full table', () => {
  test('stays within its size and serves new keys', () => {
    flood(10 * MAX_BUCKETS)
    expect(limiter.size).toBeLessThanOrEqual(MAX_BUCKETS)
    expect(take('newcomer').allowed).toBeTrue()
  })

  test('never drops a bucket that is being limited', () => {
    exhaust('attacker')
    flood(10 * MAX_BUCKETS)
    expect(take('attacker').allowed).toBeFalse()
  })

  test('of only limited keys lets new ones share a bucket, and stays within its size', () => {
    for (let i = 0; i < MAX_BUCKETS; i++) exhaust(`attacker ${i}`)
    const verdicts = ['x', 'y', 'z', 'w'].map(take)
    expect(verdicts.map(({ allowed }) => allowed)).toEqual([true, true, true, false])
    expect(limiter.size).toBeLessThanOrEqual(MAX_BUCKETS + 1)
    for (let i = 0; i < MAX_BUCKETS; i++) expect(take(`attacker ${i}`).allowed).toBeFalse()
  })

  test('drops expired buckets', () => {
    flood(MAX_BUCKETS)
    clock.advance(61)
    take('a')
    take('b')
    expect(limiter.size).toBe(2)
  })
})
