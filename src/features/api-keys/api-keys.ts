/** API keys: made once, shown once, stored as a hash. */
import { randomBytes } from 'node:crypto'
import { and, asc, eq, gt } from 'drizzle-orm'
import type { Actor, Caller } from '../../core/actor.ts'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import { type Page, type PageRequest, pageOf } from '../../core/page.ts'
import { formatTimestamp } from '../../core/timestamp.ts'
import { sha256 } from '../../crypto/secret.ts'
import { isForeignKeyViolation, type Queries, type Store } from '../../db/store.ts'
import { apiKeys } from '../../db/tables.ts'
import type { RecordAudit } from '../audit/audit.ts'
import type { Notify } from '../auth/notices.ts'
import type { WithFreshCode } from '../auth/second-factor.ts'
import type { Conclude } from '../idempotency/idempotency.ts'

export type ApiKey = typeof apiKeys.$inferSelect
/** The key itself is nowhere else. */
export type CreatedApiKey = { row: ApiKey; key: string }

export type ApiKeysOptions = {
  store: Store
  clock: Clock
  audit: RecordAudit
  /** Writes pending uses, so that `lastUsedAt` is right in the list that follows. */
  flushUsage(): Promise<void>
  notify: Notify
  /** @throws AppError `two_factor_required`, `two_factor_invalid` */
  withFreshCode: WithFreshCode
}

export type NewApiKey = {
  name: string
  /** Milliseconds since the epoch; undefined makes a key that is valid until it is deleted. */
  expiresAt: number | undefined
}

export type ApiKeys = ReturnType<typeof createApiKeys>

const SECRET_BYTES = 32
/** `ncp_` and 16 hex digits: enough to recognise a key by, with 192 of its 256 bits still secret. */
const PREFIX_LENGTH = 20

export function createApiKeys({ store, clock, audit, flushUsage, notify, withFreshCode }: ApiKeysOptions) {
  function requireFuture(expiresAt: number | undefined): void {
    if (expiresAt !== undefined && expiresAt <= clock.now()) {
      throw new AppError('validation_error', 'expires_at: must be in the future')
    }
  }

  async function insert(tx: Queries, actor: Actor, userId: number, { name, expiresAt }: NewApiKey) {
    const key = `ncp_${randomBytes(SECRET_BYTES).toString('hex')}`
    const row = await tx
      .insert(apiKeys)
      .values({
        userId,
        name,
        keyHash: sha256(key),
        keyPrefix: key.slice(0, PREFIX_LENGTH),
        createdAt: clock.now(),
        expiresAt: expiresAt ?? null,
      })
      .returning()
      .get()
    const { id, keyPrefix: prefix } = row
    await notify(tx, userId, { kind: 'api_key_created', name, prefix, expiresAt: row.expiresAt })
    await audit(tx, actor, {
      action: 'api_key.create',
      accountId: userId,
      target: { type: 'api_key', id },
      details: { name, prefix, expiresAt: expiresAt === undefined ? null : formatTimestamp(expiresAt) },
    })
    return { row, key }
  }

  async function auditDeletion(tx: Queries, actor: Actor, { id, userId, name, keyPrefix: prefix }: ApiKey) {
    await audit(tx, actor, {
      action: 'api_key.delete',
      accountId: userId,
      target: { type: 'api_key', id },
      details: { name, prefix },
    })
  }

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
     * Makes a key for the caller, who with 2FA on proves it with a fresh code.
     *
     * @returns the row, and the key, which is nowhere else
     * @throws AppError `validation_error` for an expiry that has passed, `two_factor_required`, `two_factor_invalid`
     */
    async create(
      caller: Caller,
      request: NewApiKey & { totpCode: string | undefined },
      conclude?: Conclude<CreatedApiKey>,
    ): Promise<CreatedApiKey> {
      const { totpCode, ...key } = request
      requireFuture(key.expiresAt)
      const write = withFreshCode(caller, totpCode, async (tx) => {
        const created = await insert(tx, caller, caller.userId, key)
        await conclude?.(tx, created)
        return created
      })
      return write.catch((error) => {
        // The user was deleted while this request was on its way, and its credential with the user.
        throw isForeignKeyViolation(error) ? new AppError('not_authenticated') : error
      })
    },

    /** Makes a key for a user, for the command line. @throws AppError `validation_error` for an expiry that has passed */
    async createFor(actor: Actor, userId: number, key: NewApiKey): Promise<CreatedApiKey> {
      requireFuture(key.expiresAt)
      return store.write((tx) => insert(tx, actor, userId, key))
    },

    /** Deletes anybody's key, for the command line. @throws AppError `not_found` */
    async revoke(actor: Actor, id: number): Promise<ApiKey> {
      return store.write(async (tx) => {
        const [revoked] = await tx.delete(apiKeys).where(eq(apiKeys.id, id)).returning()
        if (!revoked) throw new AppError('not_found', 'no API key has this id')
        await auditDeletion(tx, actor, revoked)
        return revoked
      })
    },

    /** @throws AppError `not_found`, `forbidden` for another user's */
    async remove(caller: Caller, id: number): Promise<void> {
      await store.write(async (tx) => {
        const own = and(eq(apiKeys.id, id), eq(apiKeys.userId, caller.userId))
        const [removed] = await tx.delete(apiKeys).where(own).returning()
        if (removed) return auditDeletion(tx, caller, removed)
        const [other] = await tx.select({ id: apiKeys.id }).from(apiKeys).where(eq(apiKeys.id, id))
        throw other
          ? new AppError('forbidden', "This is another user's key")
          : new AppError('not_found', 'No such API key')
      })
    },
  }
}
