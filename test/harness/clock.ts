/** A clock that stands still until a test moves it. */
import type { Clock } from '../../src/core/clock.ts'

export type TestClock = Clock & {
  /** Moves the clock on, by whole seconds. */
  advance(seconds: number): void
}

export function createTestClock(startMs: number = Date.now()): TestClock {
  let now = startMs
  return {
    now: () => now,
    advance(seconds) {
      now += seconds * 1000
    },
  }
}
