/** Nodes: other machines that serve sites, each with a token that is shown once and stored as a hash. */
import { and, asc, eq, gt, isNull } from 'drizzle-orm'
import type { Actor, NodeActor } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Page, PageRequest } from '../../../core/page.ts'
import { pieceOf, readPage } from '../../../db/page-reader.ts'
import { one } from '../../../db/statements.ts'
import type { Queries, ReadStore } from '../../../db/store.ts'
import { nodes, sites } from '../../../db/tables.ts'
import { desired } from '../../../node/desired-states.ts'
import type { Failure } from '../../../node/protocol.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'
import type { RecordAudit } from '../audit/audit.ts'
import { newNodeToken } from './token.ts'
import type { WriteAsNode } from './write-as-node.ts'

/** How long the token before a rotation still works: the node may have lost the answer, or still be writing it down. */
const PREVIOUS_TOKEN_MS = 60 * 60 * 1000

type NodeRow = typeof nodes.$inferSelect
type Secrets = 'tokenHash' | 'previousTokenHash' | 'previousValidUntil'
export type Node = Omit<NodeRow, Secrets>

export type NodesOptions = {
  store: ReadStore
  clock: Clock
  audit: RecordAudit
  writeAs: WriteAs
  writeAsNode: WriteAsNode
  /** Writes pending times of use. */
  settleUsage(): Promise<void>
}

export type Nodes = ReturnType<typeof createNodes>

const present = isNull(nodes.removedAt)

export function createNodes({ store, clock, audit, writeAs, writeAsNode, settleUsage }: NodesOptions) {
  async function find(queries: Queries, id: number): Promise<Node> {
    const [row] = await queries
      .select()
      .from(nodes)
      .where(and(eq(nodes.id, id), present))
    if (!row) throw new AppError('not_found', 'no such node')
    return shownOf(row)
  }

  return {
    async list(page: PageRequest): Promise<Page<Node>> {
      await settleUsage()
      return readPage(store, page, async (afterId, wanted) => {
        const rows = await store.read
          .select()
          .from(nodes)
          .where(and(gt(nodes.id, afterId), present))
          .orderBy(asc(nodes.id))
          .limit(wanted)
        return pieceOf(rows.map(shownOf), wanted)
      })
    },

    /** @throws AppError `not_found` */
    async get(id: number): Promise<Node> {
      await settleUsage()
      return find(store.read, id)
    },

    /** @throws AppError `not_found` */
    async findByName(name: string): Promise<Node> {
      const [row] = await store.read
        .select()
        .from(nodes)
        .where(and(eq(nodes.name, name), present))
      if (!row) throw new AppError('not_found', `no node has the name ${name}`)
      return shownOf(row)
    },

    /** @returns the node, and its token, to be shown once. @throws AppError `conflict` for a name that is taken */
    async add(actor: Actor, name: string): Promise<{ node: Node; token: string }> {
      const { token, tokenHash } = newNodeToken()
      return writeAs(actor, async (tx, actor) => {
        const [taken] = await tx
          .select({ id: nodes.id })
          .from(nodes)
          .where(and(eq(nodes.name, name), present))
        if (taken) throw new AppError('conflict', `A node with the name ${name} exists already`)
        const row = await one(tx.insert(nodes).values({ name, tokenHash, createdAt: clock.now() }).returning())
        await audit(tx, actor, {
          action: 'node.create',
          accountId: null,
          target: { type: 'node', id: row.id },
          details: { name },
        })
        return { node: shownOf(row), token }
      })
    },

    /** A node that is drained gets no new subscriptions; it serves those that it has. @throws AppError `not_found` */
    async drain(actor: Actor, id: number, isDrained: boolean): Promise<Node> {
      return writeAs(actor, async (tx, actor) => {
        const found = await find(tx, id)
        if ((found.drainedAt !== null) === isDrained) return found
        const drainedAt = isDrained ? clock.now() : null
        await tx.update(nodes).set({ drainedAt }).where(eq(nodes.id, id))
        await audit(tx, actor, {
          action: isDrained ? 'node.drain' : 'node.resume',
          accountId: null,
          target: { type: 'node', id },
        })
        return { ...found, drainedAt }
      })
    },

    /**
     * Revokes its tokens.
     *
     * @param abandons whether subscriptions may be on it, whose sites are then served by nobody
     * @throws AppError `not_found`, `conflict` while subscriptions are on it
     */
    async remove(actor: Actor, id: number, { abandons = false } = {}): Promise<Node> {
      return writeAs(actor, async (tx, actor) => {
        const found = await find(tx, id)
        if (!abandons && (await desired.hasAny(tx, id))) throw stillServes(found)
        const failure = JSON.stringify(nodeRemoved)
        await tx.update(sites).set({ observed: 'failed', failure }).where(eq(sites.nodeId, id))
        await tx
          .update(nodes)
          .set({ removedAt: clock.now(), tokenHash: null, previousTokenHash: null, previousValidUntil: null })
          .where(eq(nodes.id, id))
        await audit(tx, actor, {
          action: 'node.remove',
          accountId: null,
          target: { type: 'node', id },
          details: { name: found.name, subscriptions: found.subscriptions },
        })
        return found
      })
    },

    /**
     * A new token for the node that asks. The one that it sent works for another hour. A node that lost the answer asks
     * again with the token that it has, which then replaces the one it never received.
     *
     * @throws AppError `not_authenticated` if the token was revoked since the request came
     */
    async rotate(node: NodeActor): Promise<{ token: string; previousValidUntil: number }> {
      const { token, tokenHash } = newNodeToken()
      return writeAsNode(node, async (tx, node) => {
        const { nodeId: id, tokenHash: previousTokenHash, validUntil } = node
        // The hour of a token counts from the rotation that replaced it.
        const previousValidUntil = validUntil ?? clock.now() + PREVIOUS_TOKEN_MS
        await tx.update(nodes).set({ tokenHash, previousTokenHash, previousValidUntil }).where(eq(nodes.id, id))
        await audit(tx, node, { action: 'node.token_rotate', accountId: null, target: { type: 'node', id } })
        return { token, previousValidUntil }
      })
    },
  }
}

/** Of the sites of a node that is gone: nobody else would say so. */
const nodeRemoved: Failure = {
  code: 'node_removed',
  message: 'The server that served this site was removed; ask your provider',
  retryable: false,
  retryAt: null,
}

function stillServes({ name, subscriptions }: Node): AppError {
  if (subscriptions === 0) {
    return new AppError('conflict', `The node ${name} has yet to remove what is left of deleted subscriptions`)
  }
  const many = subscriptions === 1 ? 'a subscription' : `${subscriptions} subscriptions`
  return new AppError('conflict', `The node ${name} serves ${many}`)
}

function shownOf({ tokenHash: _, previousTokenHash: __, previousValidUntil: ___, ...shown }: NodeRow): Node {
  return shown
}
