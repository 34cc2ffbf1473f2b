/** Transactions on behalf of a node: each proves again that the token which was sent is still one of the node's. */
import type { NodeActor } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import { Rejected, Rejection } from '../../../core/rejection.ts'
import type { Queries } from '../../../db/store.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'
import { findNode } from './credentials.ts'

/** @throws AppError `not_authenticated` if the token was revoked since the request came, and whatever `work` throws */
export type WriteAsNode = <T>(node: NodeActor, work: (tx: Queries, node: NodeActor) => Promise<T>) => Promise<T>

/** @returns the node as it is now. @throws AppError `not_authenticated` if its token was revoked */
export type ProveNode = (queries: Queries, node: NodeActor) => Promise<NodeActor>

export function createProveNode(clock: Clock): ProveNode {
  return async (queries, node) => {
    const found = await findNode(queries, node.tokenHash, clock.now())
    if (found instanceof Rejection) throw new Rejected(found)
    return { ...node, ...found }
  }
}

export function createWriteAsNode({ writeAs, proveNode }: { writeAs: WriteAs; proveNode: ProveNode }): WriteAsNode {
  return (node, work) => writeAs(node, async (tx, node) => work(tx, await proveNode(tx, node)))
}
