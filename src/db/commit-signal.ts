/** Resolves when the database changes: at once for a write of this process, within a second for another's. */
import type { Awaitable } from '../core/awaitable.ts'
import type { Store } from './store.ts'

export type CommitSignal = ReturnType<typeof createCommitSignal>

/** How often to look for the commits of other processes, such as the command line. */
const POLL_MS = 1000

/** @param store.onWrite reports the writes of this process; those of others are polled */
export function createCommitSignal({ version, onWrite }: Pick<Store, 'version' | 'onWrite'>) {
  let waiting = Promise.withResolvers<void>()
  let seen: Awaitable<number> | undefined
  const stopping = new AbortController()

  function wake(): void {
    const { resolve } = waiting
    waiting = Promise.withResolvers()
    resolve()
  }

  onWrite(wake)

  return {
    /**
     * Resolves with the next change, or when aborted. Ask for it before reading what may have changed: what is committed
     * between the two is not missed then.
     */
    next(signal: AbortSignal): Promise<void> {
      if (signal.aborted) return Promise.resolve()
      const { promise } = waiting
      const aborted = Promise.withResolvers<void>()
      const stop = () => aborted.resolve()
      signal.addEventListener('abort', stop, { once: true })
      return Promise.race([promise, aborted.promise]).finally(() => signal.removeEventListener('abort', stop))
    },

    /** Aborted when the panel stops: what waits ends then, or it would hold up the end. */
    stopping: stopping.signal,
    stop: () => stopping.abort(),

    pollMs: POLL_MS,

    /** Looks for commits of other processes. */
    async poll(): Promise<void> {
      const now = await version()
      if (seen !== undefined && seen !== now) wake()
      seen = now
    },
  }
}
