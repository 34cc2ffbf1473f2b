/** Which subscriptions changed, in the order in which they did, for the node that serves them. */
import { and, asc, desc, eq, gt, isNull } from 'drizzle-orm'
import type { Queries } from '../db/store.ts'
import { desiredStates, siteRemovals } from '../db/tables.ts'

/** A node; null for the panel's own process. */
export type NodeId = number | null

const onNode = (nodeId: NodeId) => (nodeId === null ? isNull(desiredStates.nodeId) : eq(desiredStates.nodeId, nodeId))

/** In the transaction that makes a subscription for a node: later changes stay with that node. */
async function announceNew(tx: Queries, nodeId: number, subscriptionId: number): Promise<void> {
  await tx.insert(desiredStates).values({ subscriptionId, nodeId })
}

/** In the transaction that changes what a subscription or a site of it should be: without it, no node would learn of it. */
async function announce(tx: Queries, subscriptionId: number): Promise<void> {
  const [replaced] = await tx
    .delete(desiredStates)
    .where(eq(desiredStates.subscriptionId, subscriptionId))
    .returning({ nodeId: desiredStates.nodeId })
  await tx.insert(desiredStates).values({ subscriptionId, nodeId: replaced?.nodeId ?? null })
}

/** The subscriptions of a node that changed after a revision, the oldest change first. */
function changedAfter(queries: Queries, nodeId: NodeId, revision: number, limit: number) {
  return queries
    .select({ revision: desiredStates.revision, subscriptionId: desiredStates.subscriptionId })
    .from(desiredStates)
    .where(and(onNode(nodeId), gt(desiredStates.revision, revision)))
    .orderBy(asc(desiredStates.revision))
    .limit(limit)
}

/** The newest revision of a node; 0 if it has nothing to do. */
async function newest(queries: Queries, nodeId: NodeId): Promise<number> {
  const [row] = await queries
    .select({ revision: desiredStates.revision })
    .from(desiredStates)
    .where(onNode(nodeId))
    .orderBy(desc(desiredStates.revision))
    .limit(1)
  return row?.revision ?? 0
}

/** Whether a node serves a subscription, or has yet to remove what is left of it. */
async function isOn(queries: Queries, nodeId: NodeId, subscriptionId: number): Promise<boolean> {
  const [row] = await queries
    .select({ revision: desiredStates.revision })
    .from(desiredStates)
    .where(and(eq(desiredStates.subscriptionId, subscriptionId), onNode(nodeId)))
  return row !== undefined
}

/** Whether a node serves any subscription, or has yet to remove what is left of one. */
const hasAny = async (queries: Queries, nodeId: NodeId): Promise<boolean> => (await newest(queries, nodeId)) > 0

/** Sites of a subscription whose row is gone, and that the node has not removed. */
function removalsOf(queries: Queries, subscriptionId: number) {
  return queries
    .select({ siteId: siteRemovals.siteId })
    .from(siteRemovals)
    .where(eq(siteRemovals.subscriptionId, subscriptionId))
    .orderBy(asc(siteRemovals.siteId))
}

async function confirmSiteRemoved(tx: Queries, subscriptionId: number, siteId: number): Promise<void> {
  await tx
    .delete(siteRemovals)
    .where(and(eq(siteRemovals.siteId, siteId), eq(siteRemovals.subscriptionId, subscriptionId)))
}

/** Only once nothing of it is left to remove. */
async function confirmSubscriptionRemoved(tx: Queries, subscriptionId: number): Promise<void> {
  const [left] = await removalsOf(tx, subscriptionId).limit(1)
  if (!left) await tx.delete(desiredStates).where(eq(desiredStates.subscriptionId, subscriptionId))
}

export const desired = {
  announceNew,
  announce,
  changedAfter,
  newest,
  isOn,
  hasAny,
  removalsOf,
  confirmSiteRemoved,
  confirmSubscriptionRemoved,
}
