/** Whether the clock can be trusted before something is deleted: a clock that was just set may be wrong. */
import type { Clock } from './clock.ts'

/** What time servers correct without a jump. */
const TOLERANCE_MS = 60_000
const PATIENCE_MS = 24 * 60 * 60 * 1000
/** A machine may start with a wrong clock, and has asked a time server by then. */
const START_PATIENCE_MS = 60 * 60 * 1000

export type ClockWatch = {
  /**
   * Whether the clock went on as time did, for a day, or for an hour since this process began. To be asked from time to time:
   * a jump is noticed at the next question.
   */
  isSteady(): boolean
  /** What expired before this time may be deleted for good; nothing while the clock cannot be believed. */
  deletableBefore(): number
}

/** @param onJump told by how many milliseconds the clock was set forward, or back if negative */
export function watchClock(clock: Clock, onJump: (byMs: number) => void = () => {}): ClockWatch {
  let offset = clock.now() - clock.elapsedMs()
  let believedFrom = clock.elapsedMs() + START_PATIENCE_MS

  function isSteady(): boolean {
    const elapsed = clock.elapsedMs()
    const jumpMs = clock.now() - elapsed - offset
    offset += jumpMs
    if (Math.abs(jumpMs) > TOLERANCE_MS) {
      believedFrom = elapsed + PATIENCE_MS
      onJump(jumpMs)
    }
    return elapsed >= believedFrom
  }

  return { isSteady, deletableBefore: () => (isSteady() ? clock.now() : Number.MIN_SAFE_INTEGER) }
}
