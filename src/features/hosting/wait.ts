/** Waits until what a node has reported is what a request waits for. */
import type { CommitSignal } from '../../db/commit-signal.ts'

/** Requests that wait at a time; each reads again at every commit. One more is answered at once, as if its time were up. */
const MOST_WAITING = 100

export type WaitUntilObserved = ReturnType<typeof createWaitUntilObserved>

export function createWaitUntilObserved(commits: CommitSignal) {
  let waiting = 0

  /**
   * @param read must check the rights of its caller, which may change while it waits
   * @param patienceMs how long to wait at most
   * @returns what `read` returned last
   * @throws whatever `read` throws, such as `not_found` for a site that is gone by then
   */
  return async function waitUntilObserved<Seen>(
    read: () => Promise<{ seen: Seen; isObserved: boolean }>,
    patienceMs: number,
  ): Promise<Seen> {
    const patience = AbortSignal.any([AbortSignal.timeout(patienceMs), commits.stopping])
    waiting++
    try {
      for (;;) {
        const change = commits.next(patience)
        const { seen, isObserved } = await read()
        if (isObserved || patience.aborted || waiting > MOST_WAITING) return seen
        await change
      }
    } finally {
      waiting--
    }
  }
}

/** Whether a node has yet to report on the newest generation of a site, or to remove it. */
export const isChanging = (site: { isDeleting: boolean; generation: number; observedGeneration: number }): boolean =>
  site.isDeleting || site.observedGeneration < site.generation
