/** Adds up counts that a node reports, which may be anything. */
import type { siteUsage } from '../../../db/tables.ts'
import type { HourUsage } from '../../../node/protocol.ts'

type HourRow = typeof siteUsage.$inferSelect

/** Adding to it again and again, no node gets a number that JSON cannot hold. */
const sum = (before: number | undefined, more: number | undefined) =>
  Math.min((before ?? 0) + Math.max(0, Math.trunc(more ?? 0)), Number.MAX_SAFE_INTEGER)

/** @param before undefined for an hour of which nothing was counted yet */
export function plus(before: HourRow | undefined, { siteId, hour, requests, bytes, statuses }: HourUsage): HourRow {
  const [informational, successful, redirected, clientErrors, serverErrors] = statuses
  return {
    siteId,
    hour,
    requests: sum(before?.requests, requests),
    bytes: sum(before?.bytes, bytes),
    informational: sum(before?.informational, informational),
    successful: sum(before?.successful, successful),
    redirected: sum(before?.redirected, redirected),
    clientErrors: sum(before?.clientErrors, clientErrors),
    serverErrors: sum(before?.serverErrors, serverErrors),
  }
}
