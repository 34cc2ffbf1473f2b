/** Emails before an API key expires: seven days before, and one day before. */
import { and, asc, eq, gt, isNull, lte } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { nextTurn } from '../../../core/next-turn.ts'
import type { Queries, Store } from '../../../db/store.ts'
import { apiKeys, users } from '../../../db/tables.ts'
import type { Notify } from '../notices.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** Days before the expiry, with the last notice last. */
const NOTICE_DAYS = [7, 1] as const
/** Keys per transaction, for which all other writers wait. */
const BATCH = 100

export type ExpiryNotices = ReturnType<typeof createExpiryNotices>

/** @returns the notice already past for a key with this new expiry: its user just chose it and needs no email */
export function noticesPast(expiresAt: number | null, nowMs: number): number | null {
  if (expiresAt === null) return null
  return NOTICE_DAYS.findLast((days) => expiresAt <= nowMs + days * DAY_MS) ?? null
}

export function createExpiryNotices({ store, clock, notify }: { store: Store; clock: Clock; notify: Notify }) {
  /**
   * Marks each key as noticed in the transaction that queues its email: no email is sent twice, and none is lost.
   *
   * @param days before the expiry
   * @param noticed the notice before that one; null for none
   */
  async function sendBatch(tx: Queries, days: number, noticed: number | null): Promise<number> {
    const now = clock.now()
    const due = await tx
      .select({
        id: apiKeys.id,
        userId: apiKeys.userId,
        name: apiKeys.name,
        prefix: apiKeys.keyPrefix,
        expiresAt: apiKeys.expiresAt,
      })
      .from(apiKeys)
      .innerJoin(users, eq(users.id, apiKeys.userId))
      .where(
        and(
          noticed === null ? isNull(apiKeys.noticedDays) : eq(apiKeys.noticedDays, noticed),
          gt(apiKeys.expiresAt, now),
          lte(apiKeys.expiresAt, now + days * DAY_MS),
          eq(users.status, 'active'),
        ),
      )
      .orderBy(asc(apiKeys.expiresAt))
      .limit(BATCH)
    for (const { id, userId, name, prefix, expiresAt } of due) {
      if (expiresAt === null) continue
      await notify(tx, userId, { kind: 'api_key_expires', name, prefix, expiresAt })
      await tx
        .update(apiKeys)
        .set({ noticedDays: noticesPast(expiresAt, now) })
        .where(eq(apiKeys.id, id))
    }
    return due.length
  }

  return {
    /**
     * Called periodically: notifies users of keys that expire soon, once for each notice.
     *
     * @param stopping ends it after the current batch
     */
    async send(stopping?: AbortSignal): Promise<void> {
      let noticed: number | null = null
      for (const days of NOTICE_DAYS) {
        const before = noticed
        let isMore = true
        while (isMore && !stopping?.aborted) {
          isMore = (await store.write((tx) => sendBatch(tx, days, before))) === BATCH
          await nextTurn()
        }
        noticed = days
      }
    },
  }
}
