/** The end of a queue that has work under way, without the wait for it. */
import { jest } from 'bun:test'

/** The grace period of `jobs/queue.ts`. */
const GRACE_MS = 2000

/** Calls `stop` of a queue or an outbox, and lets exactly its grace period pass: a longer one would never end. */
export async function afterGrace(stop: () => Promise<void>): Promise<void> {
  jest.useFakeTimers()
  try {
    const stopped = stop()
    jest.advanceTimersByTime(GRACE_MS)
    jest.useRealTimers()
    await stopped
  } finally {
    jest.useRealTimers()
  }
}
