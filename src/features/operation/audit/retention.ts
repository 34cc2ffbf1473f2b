/** Deletes audit entries past their retention so that the rest of the chain can still be verified. */
import { and, asc, between, desc, gte, lt, lte } from 'drizzle-orm'
import { panelItself } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import { nextTurn } from '../../../core/next-turn.ts'
import type { Queries, Store } from '../../../db/store.ts'
import { auditClockSteps, auditHorizon, auditLog } from '../../../db/tables.ts'
import type { RecordAudit } from './audit.ts'

export type RetentionOptions = {
  store: Store
  clock: Clock
  record: RecordAudit
  /** Days for which entries are kept. */
  days(): Promise<number>
}

export type Retention = ReturnType<typeof createRetention>

const DAY_MS = 24 * 60 * 60 * 1000
/** Entries per transaction, for which all other writers wait. */
const BATCH = 2000
/** Entries per statement, during which all other requests wait. */
const SLICE = 250
const ONLY_ROW = 1

export function createRetention({ store, clock, record, days }: RetentionOptions) {
  /** @returns whether something was deleted, so that there may be more */
  async function pruneBatch(tx: Queries, before: number): Promise<boolean> {
    const [oldest] = await tx.select().from(auditLog).orderBy(asc(auditLog.id)).limit(1)
    // A day of grace, so that this happens once a day: each deletion adds an entry itself.
    if (!oldest || oldest.createdAt >= before - DAY_MS) return false
    const batch = between(auditLog.id, oldest.id, oldest.id + BATCH - 1)
    // Only up to the first to be kept: the chain must have no holes, whatever times a wrong clock has written.
    const [kept] = await tx
      .select({ id: auditLog.id })
      .from(auditLog)
      .where(and(batch, gte(auditLog.createdAt, before)))
      .orderBy(asc(auditLog.id))
      .limit(1)
    const [last] = await tx
      .select({ id: auditLog.id, hash: auditLog.hash })
      .from(auditLog)
      .where(kept ? and(batch, lt(auditLog.id, kept.id)) : batch)
      .orderBy(desc(auditLog.id))
      .limit(1)
    if (!last) return false
    const horizon = { entryId: last.id, hash: last.hash }
    await tx
      .insert(auditHorizon)
      .values({ id: ONLY_ROW, ...horizon })
      .onConflictDoUpdate({ target: auditHorizon.id, set: horizon })
    await deleteThrough(tx, oldest.id, last.id)
    await tx.delete(auditClockSteps).where(lte(auditClockSteps.entryId, last.id))
    await record(tx, panelItself, {
      action: 'audit.prune',
      accountId: null,
      details: { fromId: oldest.id, throughId: last.id, throughHash: last.hash },
    })
    return true
  }

  /** In slices, so that requests are answered in between; only writers wait for the whole. */
  async function deleteThrough(tx: Queries, firstId: number, lastId: number): Promise<void> {
    for (let from = firstId; from <= lastId; from += SLICE) {
      await tx.delete(auditLog).where(between(auditLog.id, from, Math.min(from + SLICE - 1, lastId)))
      await nextTurn()
    }
  }

  return {
    /**
     * Called periodically; does nothing until a day's entries are too old.
     *
     * @param stopping ends it after the current batch
     */
    async prune(stopping?: AbortSignal): Promise<void> {
      const before = clock.now() - (await days()) * DAY_MS
      let wasPruned = true
      while (wasPruned && !stopping?.aborted) wasPruned = await store.write((tx) => pruneBatch(tx, before))
    },
  }
}
