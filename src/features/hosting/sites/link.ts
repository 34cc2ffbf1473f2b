/** The panel as a node in the same process sees it. */
import type { CommitSignal } from '../../../db/commit-signal.ts'
import type { ReadStore } from '../../../db/store.ts'
import { desired, type NodeId } from '../../../node/desired-states.ts'
import type { DesiredChanges, NodeLink, NodeReport } from '../../../node/protocol.ts'

/** The panel's own process. */
const HERE: NodeId = null

export type LocalLinkOptions = {
  store: ReadStore
  commits: CommitSignal
  readDesired(nodeId: NodeId, revision: number): Promise<DesiredChanges>
  takeReport(nodeId: NodeId, report: NodeReport): Promise<unknown>
}

export function createLocalLink({ store, commits, readDesired, takeReport }: LocalLinkOptions): NodeLink {
  return {
    changesAfter: (revision) => readDesired(HERE, revision),
    report: async (report) => {
      await takeReport(HERE, report)
    },

    async waitForChange(revision, signal) {
      for (;;) {
        const change = commits.next(signal)
        if (signal.aborted || (await desired.newest(store.read, HERE)) > revision) return
        await change
      }
    },
  }
}
