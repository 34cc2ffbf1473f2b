/** What happened to sites: written with the change itself, read in pages, kept for 30 days. */
import { and, asc, desc, eq, gt, inArray, lt, type SQL } from 'drizzle-orm'
import type { Caller } from '../../../core/actor.ts'
import { type Details, writeDetails } from '../../../core/details.ts'
import type { Page, PageRequest } from '../../../core/page.ts'
import { boundSitesOf } from '../../../core/principal.ts'
import { pieceOf, readPage } from '../../../db/page-reader.ts'
import type { Queries, ReadStore } from '../../../db/store.ts'
import { events } from '../../../db/tables.ts'

/** Grows; a kind never changes its meaning. */
export const EVENT_KINDS = [
  'site.created',
  'site.changed',
  'site.deleting',
  'site.deleted',
  'site.active',
  'site.suspended',
  'site.disabled',
  'site.failed',
  'deployment.created',
  'deployment.ready',
  'deployment.active',
  'deployment.failed',
  'certificate.active',
  'certificate.failed',
  'certificate.uploaded',
  'certificate.deleted',
  'deployment.activating',
  /** By its node, after someone has changed there what only the agent may change. */
  'site.repaired',
] as const

export type EventKind = (typeof EVENT_KINDS)[number]

export type SiteEvent = typeof events.$inferSelect

/** Whose events: of some sites or of one subscription; undefined for all. */
export type Topic = { siteIds: ReadonlySet<number> } | { subscriptionId: number } | undefined

/** What a caller may see of a subscription. @param subscriptionId undefined for all of them */
export function topicFor(caller: Caller, subscriptionId: number | undefined): Topic {
  const siteIds = boundSitesOf(caller)
  if (siteIds) return { siteIds }
  return subscriptionId === undefined ? undefined : { subscriptionId }
}

export function concerns(
  topic: Topic,
  { siteId, subscriptionId }: Pick<SiteEvent, 'siteId' | 'subscriptionId'>,
): boolean {
  if (topic === undefined) return true
  return 'siteIds' in topic ? topic.siteIds.has(siteId) : topic.subscriptionId === subscriptionId
}

const DAY_MS = 24 * 60 * 60 * 1000
const KEPT_MS = 30 * DAY_MS
/** Events deleted in one transaction. */
const BATCH = 500

type NewEvent = {
  site: { id: number; subscriptionId: number; generation: number }
  kind: EventKind
  details?: Details
  /** Milliseconds since the epoch. */
  at: number
}

/** Passed to the features that change what a site serves. */
export type RecordEvent = typeof recordEvent

export async function recordEvent(tx: Queries, { site, kind, details = {}, at }: NewEvent): Promise<void> {
  await tx.insert(events).values({
    subscriptionId: site.subscriptionId,
    siteId: site.id,
    kind,
    generation: site.generation,
    details: writeDetails(details),
    createdAt: at,
  })
}

/** In pages, oldest first. */
export function listEvents(store: ReadStore, topic: Topic, page: PageRequest): Promise<Page<SiteEvent>> {
  return readPage(store, page, async (afterId, wanted) =>
    pieceOf(await eventsAfter(store.read, topic, afterId, wanted), wanted),
  )
}

/** The next events after an id, oldest first, `most` at most. */
export function eventsAfter(queries: Queries, topic: Topic, afterId: number, most: number): Promise<SiteEvent[]> {
  return queries
    .select()
    .from(events)
    .where(and(within(topic), gt(events.id, afterId)))
    .orderBy(asc(events.id))
    .limit(most)
}

/** Whether an event is still there. */
export async function isKept(queries: Queries, topic: Topic, id: number): Promise<boolean> {
  const [found] = await queries
    .select({ id: events.id })
    .from(events)
    .where(and(within(topic), eq(events.id, id)))
  return found !== undefined
}

/** The id of the newest event of all; 0 without any. */
export async function newestId(queries: Queries): Promise<number> {
  const [newest] = await queries.select({ id: events.id }).from(events).orderBy(desc(events.id)).limit(1)
  return newest?.id ?? 0
}

function within(topic: Topic): SQL | undefined {
  if (topic === undefined) return undefined
  return 'siteIds' in topic
    ? inArray(events.siteId, [...topic.siteIds])
    : eq(events.subscriptionId, topic.subscriptionId)
}

/** Deletes some of the events that are older than 30 days. @returns how many */
export async function pruneEvents(tx: Queries, deletableBefore: number): Promise<number> {
  const old = await tx
    .select({ id: events.id })
    .from(events)
    .where(lt(events.createdAt, deletableBefore - KEPT_MS))
    .orderBy(asc(events.createdAt))
    .limit(BATCH)
  for (const { id } of old) await tx.delete(events).where(eq(events.id, id))
  return old.length
}
