/** Waits until a node has reported on the newest generation of a site. */
import type { CommitSignal } from '../../../db/commit-signal.ts'

/** Requests that wait at a time; each reads again at every commit. One more is answered at once, as if its time were up. */
const MOST_WAITING = 100

export type Observable = { generation: number; observedGeneration: number; isDeleting: boolean; isDeploying: boolean }

export function createWaitUntilObserved(commits: CommitSignal) {
  let waiting = 0

  /**
   * @param read must check the rights of its caller, which may change while it waits
   * @param patienceMs how long to wait at most
   * @returns what `read` returned last
   * @throws whatever `read` throws, such as `not_found` for a site that is gone by then
   */
  return async function waitUntilObserved<Site extends Observable>(
    read: () => Promise<Site>,
    patienceMs: number,
  ): Promise<Site> {
    const patience = AbortSignal.any([AbortSignal.timeout(patienceMs), commits.stopping])
    waiting++
    try {
      for (;;) {
        const change = commits.next(patience)
        const site = await read()
        const isObserved = !site.isDeleting && !site.isDeploying && site.observedGeneration >= site.generation
        if (isObserved || patience.aborted || waiting > MOST_WAITING) return site
        await change
      }
    } finally {
      waiting--
    }
  }
}
