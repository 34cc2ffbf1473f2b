/** Waits for what a node is to do, on behalf of that node. */
import type { NodeActor } from '../../../core/actor.ts'
import type { CommitSignal } from '../../../db/commit-signal.ts'
import type { ReadStore } from '../../../db/store.ts'
import type { LogRequests } from '../../../node/log-requests.ts'
import type { DesiredChanges } from '../../../node/protocol.ts'
import type { ProveNode } from '../../operation/nodes/write-as-node.ts'
import type { ReadDesired } from '../sites/desired.ts'

/** Requests of one node that wait at a time. One more is answered at once: a stolen token makes the panel hold few. */
const MOST_WAITING = 4

export type NodeStateOptions = {
  store: ReadStore
  commits: CommitSignal
  readDesired: ReadDesired
  proveNode: ProveNode
  logRequests: LogRequests
  /** Resolves when what was read is on the disk. */
  durable(): Promise<void> | undefined
}

export type WaitForState = ReturnType<typeof createWaitForState>

export function createWaitForState({ store, commits, readDesired, proveNode, logRequests, durable }: NodeStateOptions) {
  const waiting = new Map<number, number>()

  function count(nodeId: number, by: 1 | -1): number {
    const now = (waiting.get(nodeId) ?? 0) + by
    if (now === 0) waiting.delete(nodeId)
    else waiting.set(nodeId, now)
    return now
  }

  /**
   * @param patienceMs how long to wait for a change, if there is none
   * @param gone aborted when the node has hung up
   * @throws AppError `not_authenticated` once its token is revoked, also while it waits
   */
  return async function waitForState(
    node: NodeActor,
    { revision, patienceMs, gone }: { revision: number; patienceMs: number; gone: AbortSignal },
  ): Promise<DesiredChanges> {
    const patience = AbortSignal.any([AbortSignal.timeout(patienceMs), commits.stopping, gone])
    const mayWait = count(node.nodeId, 1) <= MOST_WAITING && patienceMs > 0
    try {
      for (;;) {
        const change = Promise.race([commits.next(patience), logRequests.waitForAny(node.nodeId, patience)])
        await proveNode(store.read, node)
        const changes = await readDesired(node.nodeId, revision)
        const isNews = changes.subscriptions.length > 0 || changes.logRequests !== undefined
        if (isNews || !mayWait || patience.aborted) {
          // The node deletes for it, on its own disk: nothing that a power cut may undo here.
          await durable()
          return changes
        }
        await change
      }
    } finally {
      count(node.nodeId, -1)
    }
  }
}
