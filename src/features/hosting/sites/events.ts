/** What happened to a site: written with the change itself, read in pages, kept for 30 days. */
import { and, asc, eq, gt, lt } from 'drizzle-orm'
import { type Details, writeDetails } from '../../../core/details.ts'
import type { Page, PageRequest } from '../../../core/page.ts'
import { pieceOf, readPage } from '../../../db/page-reader.ts'
import type { Queries, ReadStore } from '../../../db/store.ts'
import { siteEvents } from '../../../db/tables.ts'

/** Grows; a kind never changes its meaning. */
export const EVENT_KINDS = [
  'site.created',
  'site.changed',
  'site.deleting',
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
] as const

export type EventKind = (typeof EVENT_KINDS)[number]

export type SiteEvent = typeof siteEvents.$inferSelect

const DAY_MS = 24 * 60 * 60 * 1000
const KEPT_MS = 30 * DAY_MS
/** Events deleted in one transaction. */
const BATCH = 500

type NewEvent = {
  site: { id: number; generation: number }
  kind: EventKind
  details?: Details
  /** Milliseconds since the epoch. */
  at: number
}

/** Passed to the features that change what a site serves. */
export type RecordEvent = typeof recordEvent

export async function recordEvent(tx: Queries, { site, kind, details = {}, at }: NewEvent): Promise<void> {
  await tx.insert(siteEvents).values({
    siteId: site.id,
    kind,
    generation: site.generation,
    details: writeDetails(details),
    createdAt: at,
  })
}

/** The events of a site, oldest first. */
export function listEvents(store: ReadStore, siteId: number, page: PageRequest): Promise<Page<SiteEvent>> {
  return readPage(store, page, async (afterId, wanted) =>
    pieceOf(
      await store.read
        .select()
        .from(siteEvents)
        .where(and(eq(siteEvents.siteId, siteId), gt(siteEvents.id, afterId)))
        .orderBy(asc(siteEvents.id))
        .limit(wanted),
      wanted,
    ),
  )
}

/** Deletes some of the events that are older than 30 days. @returns how many */
export async function pruneEvents(tx: Queries, deletableBefore: number): Promise<number> {
  const old = await tx
    .select({ id: siteEvents.id })
    .from(siteEvents)
    .where(lt(siteEvents.createdAt, deletableBefore - KEPT_MS))
    .orderBy(asc(siteEvents.createdAt))
    .limit(BATCH)
  for (const { id } of old) await tx.delete(siteEvents).where(eq(siteEvents.id, id))
  return old.length
}
