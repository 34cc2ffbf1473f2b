/** Reads the stored rows of API keys, hiding secrets whose time has run out. */
import { eq } from 'drizzle-orm'
import type { Caller } from '../../../core/actor.ts'
import { AppError } from '../../../core/errors.ts'
import { one } from '../../../db/statements.ts'
import type { Queries } from '../../../db/store.ts'
import { apiKeys } from '../../../db/tables.ts'

export type ApiKey = typeof apiKeys.$inferSelect

/** The key itself is not stored anywhere. */
export type CreatedApiKey = { row: ApiKey; key: string }

/** For a key with only one secret. */
export const noPrevious = { previousKeyHash: null, previousKeyPrefix: null, previousValidUntil: null }

/** A key of any user, for the command line. @returns undefined if it does not exist */
export async function findKey(queries: Queries, id: number): Promise<ApiKey | undefined> {
  const [row] = await queries.select().from(apiKeys).where(eq(apiKeys.id, id))
  return row
}

/** @throws AppError `not_found`, `forbidden` for another user's */
export async function findOwn(queries: Queries, { userId }: Caller, id: number): Promise<ApiKey> {
  const row = await findKey(queries, id)
  if (!row) throw new AppError('not_found', 'No such API key')
  if (row.userId !== userId) throw new AppError('forbidden', "This is another user's key")
  return row
}

/** @returns the changed key */
export async function changeKey(tx: Queries, id: number, changes: Partial<ApiKey>): Promise<ApiKey> {
  return one(tx.update(apiKeys).set(changes).where(eq(apiKeys.id, id)).returning())
}

/**
 * An expired key stays expired: its secret may have been discarded carelessly.
 *
 * @throws AppError `conflict`
 */
export function requireUnexpired({ expiresAt }: ApiKey, nowMs: number): void {
  if (expiresAt === null || expiresAt > nowMs) return
  throw new AppError('conflict', 'This API key has expired; create another')
}

/** Hides the old secret of a rotation once it has run out; until then, corrects its end, which is at most the key's. */
export function withoutPast(row: ApiKey, nowMs: number): ApiKey {
  const { previousValidUntil, expiresAt } = row
  if (previousValidUntil === null) return row
  if (previousValidUntil <= nowMs) return { ...row, ...noPrevious }
  return { ...row, previousValidUntil: earliest(previousValidUntil, expiresAt) }
}

/** @param end in milliseconds since the epoch, like `expiresAt`, where null means never */
export function earliest(end: number, expiresAt: number | null): number {
  return expiresAt === null ? end : Math.min(end, expiresAt)
}
