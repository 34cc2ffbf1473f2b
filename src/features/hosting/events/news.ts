/** Wakes the readers that a commit has news for: however many there are, a commit costs one small query. */
import type { CommitSignal } from '../../../db/commit-signal.ts'
import type { ReadStore } from '../../../db/store.ts'
import { concerns, eventsAfter, newestId, type SiteEvent, type Topic } from './events.ts'

export type News = ReturnType<typeof createNews>

/** After more new events at once, every reader looks for itself. */
const MOST_LOOKED_AT = 500

type Reader = { topic: Topic; wake(): void }

export function createNews({ store, commits }: { store: ReadStore; commits: CommitSignal }) {
  const readers = new Set<Reader>()
  let isFollowing = false

  /** Until the panel stops or there is no reader left. All are woken at its end, also when the store cannot be read. */
  async function follow(): Promise<void> {
    isFollowing = true
    try {
      let seen = await newestId(store.read)
      // A reader may have looked before that, and an event may lie between the two.
      wakeAll()
      while (readers.size > 0 && !commits.stopping.aborted) {
        const change = commits.next(commits.stopping)
        const found = await eventsAfter(store.read, undefined, seen, MOST_LOOKED_AT)
        seen = found.at(-1)?.id ?? seen
        if (found.length === MOST_LOOKED_AT) wakeAll()
        else wakeReadersOf(found)
        if (found.length === 0) await change
      }
    } finally {
      isFollowing = false
      wakeAll()
    }
  }

  function wakeAll(): void {
    for (const { wake } of readers) wake()
  }

  function wakeReadersOf(found: readonly SiteEvent[]): void {
    for (const { topic, wake } of readers) {
      if (found.some((event) => concerns(topic, event))) wake()
    }
  }

  return {
    /** @param topic what the reader waits for */
    join(topic: Topic) {
      let { promise, resolve } = Promise.withResolvers<void>()
      const reader: Reader = {
        topic,
        wake() {
          resolve()
          ;({ promise, resolve } = Promise.withResolvers<void>())
        },
      }
      readers.add(reader)
      return {
        wake: reader.wake,

        /** Resolves when there may be news. Ask for it before looking: what is committed between the two is not missed. */
        next(): Promise<void> {
          // A failure is for the readers, which look for themselves.
          if (!isFollowing && !commits.stopping.aborted) follow().catch(() => undefined)
          return promise
        },

        leave(): void {
          readers.delete(reader)
        },
      }
    },
  }
}
