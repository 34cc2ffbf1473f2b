/** Transactions on behalf of a node: each proves again that the token which was sent is still one of the node's. */
import type { NodeActor } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import { Rejected, Rejection } from '../../../core/rejection.ts'
import type { Queries } from '../../../db/store.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'
import { findNode } from './credentials.ts'

/** @throws AppError `not_authenticated` if the token was revoked since the request came, and whatever `work` throws */
export type WriteAsNode = <T>(node: NodeActor, work: (tx: Queries, node: NodeActor) => Promise<T>) => Promise<T>

export function createWriteAsNode({ writeAs, clock }: { writeAs: WriteAs; clock: Clock }): WriteAsNode {
  return (node, work) =>
    writeAs(node, async (tx, node) => {
      const found = await findNode(tx, node.tokenHash, clock.now())
      if (found instanceof Rejection) throw new Rejected(found)
      return work(tx, { ...node, ...found })
    })
}
