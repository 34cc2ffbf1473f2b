/** Delays between attempts. */
import { expect, test } from 'bun:test'
import { delayAfter } from '../../src/jobs/backoff.ts'

const backoff = { firstDelayMs: 30, longestDelayMs: 200 }
const delays = (failures: number[]) => failures.map((count) => delayAfter(backoff, count))

test('a delay doubles with each failure, up to the longest', () => {
  expect(delays([1, 2, 3, 4, 5])).toEqual([30, 60, 120, 200, 200])
})

test('after any number of failures it stays the longest', () => {
  expect(delays([1e3, 1e4, Number.MAX_SAFE_INTEGER])).toEqual([200, 200, 200])
})

test('a first delay equal to the longest never grows', () => {
  expect(delayAfter({ firstDelayMs: 7, longestDelayMs: 7 }, 9)).toBe(7)
})
