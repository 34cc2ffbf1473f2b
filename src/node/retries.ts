/** What could not be made what it should be, and when each is tried again. */
import { type Backoff, delayAfter } from '../jobs/backoff.ts'

const BACKOFF: Backoff = { firstDelayMs: 1000, longestDelayMs: 5 * 60 * 1000 }

export type Retries<Work> = ReturnType<typeof createRetries<Work>>

/** Counts the time that passes, which no wrong clock delays. */
export function createRetries<Work>(now: () => number = () => performance.now()) {
  const failing = new Map<string, { work: Work; failures: number; dueAt: number }>()

  return {
    /** After another failure. */
    add(key: string, work: Work): void {
      const failures = (failing.get(key)?.failures ?? 0) + 1
      failing.set(key, { work, failures, dueAt: now() + delayAfter(BACKOFF, failures) })
    },

    has: (key: string) => failing.has(key),

    remove: (key: string) => failing.delete(key),

    keepOnly(keys: ReadonlySet<string>): void {
      for (const key of failing.keys()) if (!keys.has(key)) failing.delete(key)
    },

    due: (): Work[] => [...failing.values()].filter(({ dueAt }) => dueAt <= now()).map(({ work }) => work),

    /** Milliseconds until the first of them is due; undefined if there is none. */
    nextInMs(): number | undefined {
      if (failing.size === 0) return undefined
      return Math.max(0, Math.min(...[...failing.values()].map(({ dueAt }) => dueAt)) - now())
    },
  }
}
