/** Selects the jobs of a queue to run next. */
import { and, asc, eq, gt, lte } from 'drizzle-orm'
import type { Queries } from '../db/store.ts'
import { jobs } from '../db/tables.ts'

/** Rows read in each of two orders to find the most urgent. */
const CANDIDATES = 200

export type DueOptions = {
  kind: string
  /** Milliseconds since the epoch. */
  now: number
  /** The longest delay that a job can have been given. */
  longestMs: number
  limit: number
}

/**
 * The most urgent due jobs. However many wait, only a few rows are read: those that expire first, which may not be due yet,
 * and those that have been due longest, so that no job starves.
 *
 * @returns their ids
 */
export async function findDue(tx: Queries, { kind, now, longestMs, limit }: DueOptions): Promise<number[]> {
  const columns = { id: jobs.id, expiresAt: jobs.expiresAt, nextAttemptAt: jobs.nextAttemptAt }
  const isOfKind = eq(jobs.kind, kind)
  // A job delayed further than this was delayed before the clock was set back.
  const tooFar = now + longestMs
  const found = [
    ...(await tx
      .select(columns)
      .from(jobs)
      .where(and(isOfKind, gt(jobs.expiresAt, now)))
      .orderBy(asc(jobs.expiresAt))
      .limit(CANDIDATES)),
    ...(await tx
      .select(columns)
      .from(jobs)
      .where(and(isOfKind, lte(jobs.nextAttemptAt, now)))
      .orderBy(asc(jobs.nextAttemptAt))
      .limit(CANDIDATES)),
    ...(await tx
      .select(columns)
      .from(jobs)
      .where(and(isOfKind, gt(jobs.nextAttemptAt, tooFar)))
      .limit(limit)),
  ]
  const due = found.filter(
    ({ expiresAt, nextAttemptAt }) => expiresAt > now && (nextAttemptAt <= now || nextAttemptAt > tooFar),
  )
  const mostUrgent = due.sort((one, other) => one.expiresAt - other.expiresAt).map(({ id }) => id)
  return [...new Set(mostUrgent)].slice(0, limit)
}
