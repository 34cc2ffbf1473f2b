/** Whether the clock can be believed by what deletes for good: one that was set a moment ago may be wrong. */
import type { Clock } from './clock.ts'

/** What time servers correct without a jump. */
const TOLERANCE_MS = 60_000
const PATIENCE_MS = 24 * 60 * 60 * 1000

/**
 * @param elapsedMs milliseconds of a clock that nobody can set
 * @returns whether the clock went on as time did, for a day or since this was called. To be asked from time to time: a jump
 * is noticed at the next question
 */
export function watchClock(clock: Clock, elapsedMs: () => number = () => performance.now()): () => boolean {
  let offset = clock.now() - elapsedMs()
  let jumpedAt = Number.NEGATIVE_INFINITY

  return () => {
    const elapsed = elapsedMs()
    const now = clock.now() - elapsed
    if (Math.abs(now - offset) > TOLERANCE_MS) jumpedAt = elapsed
    offset = now
    return elapsed - jumpedAt >= PATIENCE_MS
  }
}
