/** Decides which node serves a new subscription, and knows what a node can serve. */
import { and, asc, eq, isNull } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import type { Queries } from '../../../db/store.ts'
import { nodes } from '../../../db/tables.ts'
import type { NodeId } from '../../../node/desired-states.ts'
import type { Epoch } from '../../../node/epoch.ts'
import { readCapabilities, readStatus } from './said.ts'

export type Placement = ReturnType<typeof createPlacement>

const present = isNull(nodes.removedAt)

/** @param epoch a node that has not connected in it may know subscriptions that a restored database does not */
export function createPlacement(epoch: Epoch) {
  return {
    /** @returns the node with the fewest subscriptions, of those that take new ones and do as they are told; null for the panel's own process */
    async choose(tx: Queries): Promise<NodeId> {
      const rows = await tx
        .select({ id: nodes.id, subscriptions: nodes.subscriptions, status: nodes.status })
        .from(nodes)
        .where(and(present, isNull(nodes.drainedAt), eq(nodes.epoch, epoch())))
        .orderBy(asc(nodes.id))
      const [least] = rows
        .filter(({ status }) => readStatus(status).held === null)
        .sort((one, other) => one.subscriptions - other.subscriptions)
      return least?.id ?? null
    },

    /** The versions of PHP that a node has, the newest first. The panel's own process runs none. */
    async phpVersionsOf(queries: Queries, nodeId: NodeId): Promise<readonly string[]> {
      if (nodeId === null) return []
      const [row] = await queries.select({ capabilities: nodes.capabilities }).from(nodes).where(eq(nodes.id, nodeId))
      return readCapabilities(row?.capabilities).phpVersions
    },

    /** @throws AppError `not_found`, `conflict` for a node that has not connected */
    async require(tx: Queries, nodeId: number): Promise<void> {
      const [row] = await tx
        .select({ epoch: nodes.epoch })
        .from(nodes)
        .where(and(eq(nodes.id, nodeId), present))
      if (!row) throw new AppError('not_found', 'node_id: no such node')
      if (row.epoch !== epoch()) throw new AppError('conflict', 'node_id: the node has not connected yet')
    },
  }
}
