/** A clock that was set is not believed for a day by what deletes for good. */
import { expect, test } from 'bun:test'
import { watchClock } from '../../src/core/clock-watch.ts'
import { createTestClock } from '../harness/clock.ts'

const HOUR = 3600

test('a clock that goes on as time does is believed, one that jumped not before a day has passed', () => {
  const clock = createTestClock()
  let elapsedMs = 0
  const isSteady = watchClock(clock, () => elapsedMs)
  const pass = (seconds: number) => {
    clock.advance(seconds)
    elapsedMs += seconds * 1000
  }
  expect(isSteady()).toBeTrue()
  pass(HOUR)
  expect(isSteady()).toBeTrue()
  // What a time server corrects.
  clock.advance(2)
  expect(isSteady()).toBeTrue()

  clock.advance(2 * 365 * 24 * HOUR)
  expect(isSteady()).toBeFalse()
  pass(23 * HOUR)
  expect(isSteady()).toBeFalse()
  // Put right: that is a jump as well.
  clock.advance(-2 * 365 * 24 * HOUR)
  expect(isSteady()).toBeFalse()
  pass(23 * HOUR)
  expect(isSteady()).toBeFalse()
  pass(HOUR)
  expect(isSteady()).toBeTrue()
})
