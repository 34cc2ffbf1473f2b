/** Which jobs of a queue are to be done next. */
import { and, asc, eq, gt, lte } from 'drizzle-orm'
import type { Queries } from '../db/store.ts'
import { jobs } from '../db/tables.ts'

/** Jobs looked at for the most urgent, in each of two orders. */
const CANDIDATES = 200

export type DueOptions = {
  kind: string
  /** Milliseconds since the epoch. */
  now: number
  /** Nothing is put off for longer. */
  longestMs: number
  limit: number
}

/**
 * The most urgent of the jobs that are due. However many wait, few are looked at: those that expire first, which may be put
 * off, and those whose turn came first, so that none waits for ever.
 *
 * @returns their ids
 */
export async function findDue(tx: Queries, { kind, now, longestMs, limit }: DueOptions): Promise<number[]> {
  const columns = { id: jobs.id, expiresAt: jobs.expiresAt, nextAttemptAt: jobs.nextAttemptAt }
  const isOfKind = eq(jobs.kind, kind)
  // What is put off further was put off before the clock was set back.
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
