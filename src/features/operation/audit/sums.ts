/** Counts what accounts do beyond their budget, in the same transaction, and writes it as sums within the hour. */
import { asc, eq, gt, lte, sql } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { writeDetails } from '../../../core/details.ts'
import { formatTimestamp } from '../../../core/timestamp.ts'
import { countUpTo } from '../../../db/count.ts'
import type { Queries, Store } from '../../../db/store.ts'
import { auditSums } from '../../../db/tables.ts'
import type { AuditEntry } from './chain.ts'

/** An entry that has no place in the chain yet. */
export type NewEntry = Omit<AuditEntry, 'id' | 'createdAt' | 'hash'>
export type Append = (tx: Queries, entry: NewEntry) => Promise<void>

type Sum = typeof auditSums.$inferSelect

/** How long equal events are summed up. */
const WINDOW_MS = 60 * 60 * 1000
/** Sums per account that record credential and address; beyond that, only the action. */
const MAX_OF_ACCOUNT = 20
/** Sums written per transaction. */
const BATCH = 50

/** Counts an entry instead of writing it. */
export async function countEntry(tx: Queries, entry: NewEntry & { accountId: number }, now: number): Promise<void> {
  const own = tx.select({ one: sql`1` }).from(auditSums).where(eq(auditSums.accountId, entry.accountId))
  const isCrowded = (await countUpTo(tx, own, MAX_OF_ACCOUNT)) >= MAX_OF_ACCOUNT
  const { accountId, actorId, credentialKind, action, targetType, targetId } = entry
  const exact = { credentialId: entry.credentialId, address: entry.address }
  const values = { accountId, actorId, credentialKind, action, targetType, ...exact }
  const keyOf = (same: object) => JSON.stringify(Object.values(same))
  const known = isCrowded
    ? await tx
        .select({ id: auditSums.id })
        .from(auditSums)
        .where(eq(auditSums.key, keyOf(values)))
    : []
  const told = isCrowded && known.length === 0 ? { ...values, credentialId: null, address: null } : values
  await tx
    .insert(auditSums)
    .values({
      ...told,
      key: keyOf(told),
      firstTargetId: targetId,
      lastTargetId: targetId,
      firstAt: now,
      lastAt: now,
      times: 1,
    })
    .onConflictDoUpdate({
      target: auditSums.key,
      set: { times: sql`${auditSums.times} + 1`, lastAt: now, lastTargetId: targetId },
    })
}

export function createAuditSums({ store, clock, append }: { store: Store; clock: Clock; append: Append }) {
  /** Sums whose hour is over. One from the future began before the clock was set back. */
  async function due(queries: Queries): Promise<Sum[]> {
    const now = clock.now()
    const first = (condition: ReturnType<typeof gt>) =>
      queries.select().from(auditSums).where(condition).orderBy(asc(auditSums.firstAt)).limit(BATCH)
    const old = await first(lte(auditSums.firstAt, now - WINDOW_MS))
    return old.length > 0 ? old : first(gt(auditSums.firstAt, now))
  }

  return {
    /**
     * Called periodically: turns the sums whose hour is over into entries.
     *
     * @param stopping ends it after the current batch
     */
    async flush(stopping?: AbortSignal): Promise<void> {
      while (!stopping?.aborted && (await due(store.read)).length > 0) {
        await store.write(async (tx) => {
          for (const sum of await due(tx)) {
            await append(tx, entryOf(sum))
            await tx.delete(auditSums).where(eq(auditSums.id, sum.id))
          }
        })
      }
    },
  }
}

function entryOf(sum: Sum): NewEntry {
  const { actorId, credentialKind, credentialId, address, action, accountId, targetType, times } = sum
  const details = writeDetails({
    since: formatTimestamp(sum.firstAt),
    until: formatTimestamp(sum.lastAt),
    firstTargetId: sum.firstTargetId,
    lastTargetId: sum.lastTargetId,
  })
  const who = { actorId, credentialKind, credentialId, address, requestId: null }
  return { ...who, action, accountId, targetType, targetId: null, result: 'success', reason: null, times, details }
}
