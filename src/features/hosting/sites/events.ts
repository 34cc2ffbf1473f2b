/** What happened to a site: written with the change itself, kept for 30 days. */
import { and, asc, eq, lt } from 'drizzle-orm'
import type { Queries } from '../../../db/store.ts'
import { siteEvents } from '../../../db/tables.ts'

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
] as const

export type EventKind = (typeof EVENT_KINDS)[number]

export type SiteEvent = typeof siteEvents.$inferSelect

type NewEvent = { site: { id: number; generation: number }; kind: EventKind; details?: object; at: number }

export async function recordEvent(tx: Queries, { site, kind, details = {}, at }: NewEvent): Promise<void> {
  await tx.insert(siteEvents).values({
    siteId: site.id,
    kind,
    generation: site.generation,
    details: JSON.stringify(details),
    createdAt: at,
  })
}

/** Deletes some of the events before a time, the oldest. */
export async function deleteEventsBefore(tx: Queries, before: number, limit: number): Promise<number> {
  const old = await tx
    .select({ id: siteEvents.id })
    .from(siteEvents)
    .where(lt(siteEvents.createdAt, before))
    .orderBy(asc(siteEvents.createdAt))
    .limit(limit)
  for (const { id } of old) await tx.delete(siteEvents).where(and(eq(siteEvents.id, id)))
  return old.length
}
