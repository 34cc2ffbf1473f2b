/** Sites that could not be made what they should be, and when each is tried again. */
import { type Backoff, delayAfter } from '../jobs/backoff.ts'

const BACKOFF: Backoff = { firstDelayMs: 1000, longestDelayMs: 5 * 60 * 1000 }

export type Retries<Work> = ReturnType<typeof createRetries<Work>>

/** Counts the time that passes, which no wrong clock delays. */
export function createRetries<Work>(now: () => number = () => performance.now()) {
  const failing = new Map<number, { work: Work; failures: number; dueAt: number }>()

  return {
    /** After another failure. @returns the delay in milliseconds */
    add(siteId: number, work: Work): number {
      const failures = (failing.get(siteId)?.failures ?? 0) + 1
      const delayMs = delayAfter(BACKOFF, failures)
      failing.set(siteId, { work, failures, dueAt: now() + delayMs })
      return delayMs
    },

    remove: (siteId: number) => failing.delete(siteId),

    keepOnly(siteIds: ReadonlySet<number>): void {
      for (const id of failing.keys()) if (!siteIds.has(id)) failing.delete(id)
    },

    due: (): Work[] => [...failing.values()].filter(({ dueAt }) => dueAt <= now()).map(({ work }) => work),

    /** Milliseconds until the first of them is due; undefined if there is none. */
    nextInMs(): number | undefined {
      if (failing.size === 0) return undefined
      return Math.max(0, Math.min(...[...failing.values()].map(({ dueAt }) => dueAt)) - now())
    },
  }
}
