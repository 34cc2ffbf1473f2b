/** A clock that was set is not believed for a day by what deletes for good. */
import { expect, test } from 'bun:test'
import { watchClock } from '../../src/core/clock-watch.ts'
import { createTestClock } from '../harness/clock.ts'

const HOUR = 3600
const YEAR = 365 * 24 * HOUR

test('a steady clock is trusted after an hour, one that jumped only after a day', () => {
  const clock = createTestClock()
  const { isSteady, deletableBefore } = watchClock(clock)
  expect(isSteady()).toBeFalse()
  clock.advance(HOUR)
  expect(isSteady()).toBeTrue()
  expect(deletableBefore()).toBe(clock.now())
  // What a time server corrects.
  clock.jump(2)
  expect(isSteady()).toBeTrue()

  clock.jump(2 * YEAR)
  expect(isSteady()).toBeFalse()
  expect(deletableBefore()).toBeLessThan(0)
  clock.advance(23 * HOUR)
  expect(isSteady()).toBeFalse()
  // Put right: that is a jump as well.
  clock.jump(-2 * YEAR)
  expect(isSteady()).toBeFalse()
  clock.advance(23 * HOUR)
  expect(isSteady()).toBeFalse()
  clock.advance(HOUR)
  expect(isSteady()).toBeTrue()
})

test('each jump is reported, forward and backward', () => {
  const clock = createTestClock()
  const jumps: number[] = []
  const { isSteady } = watchClock(clock, (byMs) => jumps.push(byMs))
  for (const seconds of [HOUR, 30, -HOUR]) {
    clock.jump(seconds)
    clock.advance(10)
    isSteady()
  }
  expect(jumps).toEqual([HOUR * 1000, -HOUR * 1000])
})
