/** API keys: made once, shown once, stored as a hash. */
import { randomBytes } from 'node:crypto'
import { and, asc, eq, gt } from 'drizzle-orm'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import { type Page, type PageRequest, pageOf } from '../../core/page.ts'
import { sha256 } from '../../crypto/secret.ts'
import { isForeignKeyViolation, type Store } from '../../db/store.ts'
import { apiKeys } from '../../db/tables.ts'
import type { Notify } from '../auth/notices.ts'

export type ApiKey = typeof apiKeys.$inferSelect

export type ApiKeysOptions = {
  store: Store
  clock: Clock
  /** Writes pending uses, so that `lastUsedAt` is right in the list that follows. */
  flushUsage(): Promise<void>
  notify: Notify
}

export type ApiKeys = ReturnType<typeof createApiKeys>

const SECRET_BYTES = 32
/** `ncp_` and 16 hex digits: enough to recognise a key by, with 192 of its 256 bits still secret. */
const PREFIX_LENGTH = 20

export function createApiKeys({ store, clock, flushUsage, notify }: ApiKeysOptions) {
  return {
    async list(userId: number, page: PageRequest): Promise<Page<ApiKey>> {
      await flushUsage()
      const rows = await store.read
        .select()
        .from(apiKeys)
        .where(and(eq(apiKeys.userId, userId), gt(apiKeys.id, page.afterId)))
        .orderBy(asc(apiKeys.id))
        .limit(page.limit + 1)
      return pageOf(rows, page)
    },

    /**
     * @param expiresAt milliseconds since the epoch; undefined makes a key that is valid until it is deleted
     * @returns the row, and the key, which is nowhere else
     * @throws AppError `validation_error` for an expiry that has passed
     */
    async create(userId: number, name: string, expiresAt: number | undefined): Promise<{ row: ApiKey; key: string }> {
      const now = clock.now()
      if (expiresAt !== undefined && expiresAt <= now) {
        throw new AppError('validation_error', 'expires_at: must be in the future')
      }
      const key = `ncp_${randomBytes(SECRET_BYTES).toString('hex')}`
      const write = store.write(async (tx) => {
        const created = await tx
          .insert(apiKeys)
          .values({
            userId,
            name,
            keyHash: sha256(key),
            keyPrefix: key.slice(0, PREFIX_LENGTH),
            createdAt: now,
            expiresAt: expiresAt ?? null,
          })
          .returning()
          .get()
        const { keyPrefix: prefix } = created
        await notify(tx, userId, { kind: 'api_key_created', name, prefix, expiresAt: created.expiresAt })
        return created
      })
      const row = await write.catch((error) => {
        // The user was deleted while this request was on its way, and its credential with the user.
        throw isForeignKeyViolation(error) ? new AppError('not_authenticated') : error
      })
      return { row, key }
    },

    /** Deletes anybody's key, for the command line. @throws AppError `not_found` */
    async revoke(id: number): Promise<ApiKey> {
      const [revoked] = await store.write((tx) => tx.delete(apiKeys).where(eq(apiKeys.id, id)).returning())
      if (!revoked) throw new AppError('not_found', 'no API key has this id')
      return revoked
    },

    /** @throws AppError `not_found`, `forbidden` for another user's */
    async remove(userId: number, id: number): Promise<void> {
      const removed = await store.write((tx) =>
        tx
          .delete(apiKeys)
          .where(and(eq(apiKeys.id, id), eq(apiKeys.userId, userId)))
          .returning({ id: apiKeys.id }),
      )
      if (removed.length > 0) return
      const [other] = await store.read.select({ id: apiKeys.id }).from(apiKeys).where(eq(apiKeys.id, id))
      throw other
        ? new AppError('forbidden', "This is another user's key")
        : new AppError('not_found', 'No such API key')
    },
  }
}
