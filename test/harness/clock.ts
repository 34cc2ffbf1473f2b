/** A clock that stands still until a test moves it. */
import type { Clock } from '../../src/core/clock.ts'

export type TestClock = Clock & {
  /** Lets time pass, by whole seconds. */
  advance(seconds: number): void
  /** Sets the clock by whole seconds, forward or back, while no time passes. */
  jump(seconds: number): void
}

export function createTestClock(startMs: number = Date.now()): TestClock {
  let now = startMs
  let elapsed = 0
  return {
    now: () => now,
    elapsedMs: () => elapsed,
    advance(seconds) {
      now += seconds * 1000
      elapsed += seconds * 1000
    },
    jump(seconds) {
      now += seconds * 1000
    },
  }
}
