/** Emails before an API key expires: seven days before, and one day before. */
import { and, asc, eq, gt, isNull, lte } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { nextTurn } from '../../../core/next-turn.ts'
import type { Queries, Store } from '../../../db/store.ts'
import { apiKeys, users } from '../../../db/tables.ts'
import type { Notify } from '../notices.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** Days before the expiry, the later notice last. */
const NOTICE_DAYS = [7, 1] as const
/** Keys in one transaction, for which all others wait. */
const BATCH = 100

export type ExpiryNotices = ReturnType<typeof createExpiryNotices>

/** @returns which notice is past for a key that gets this expiry now: the user has just chosen it and needs no email about it */
export function noticesPast(expiresAt: number | null, nowMs: number): number | null {
  if (expiresAt === null) return null
  return NOTICE_DAYS.findLast((days) => expiresAt <= nowMs + days * DAY_MS) ?? null
}

export function createExpiryNotices({ store, clock, notify }: { store: Store; clock: Clock; notify: Notify }) {
  /**
   * Each key is noted as noticed in the transaction that puts the mail down: no mail twice, and none lost.
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
     * Called from time to time: tells the users of keys that expire soon, each time once.
     *
     * @param stopping ends it after the batch under way
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
