/** API keys: created once, shown once, stored as a hash. */
import { and, asc, eq, gt, sql } from 'drizzle-orm'
import type { Actor, Caller } from '../../../core/actor.ts'
import { changesNothing, differences } from '../../../core/changes.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Page, PageRequest } from '../../../core/page.ts'
import type { Precondition } from '../../../core/precondition.ts'
import { countUpTo } from '../../../db/count.ts'
import { pieceOf, readPage } from '../../../db/page-reader.ts'
import { one } from '../../../db/statements.ts'
import type { Conclude, Queries, ReadStore } from '../../../db/store.ts'
import { apiKeys } from '../../../db/tables.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { WriteAs } from '../credentials/write-as.ts'
import type { Notify } from '../notices.ts'
import type { WithFreshCode } from '../proof/second-factor.ts'
import type { RequireManageable } from '../users/users.ts'
import { noticesPast } from './expiry-notices.ts'
import { createRecord, timeOrNull } from './record.ts'
import { noRenewal, renewalOf, SELF_ROTATION_IS_OFF } from './renewal.ts'
import type { ApiKeyChanges, NewApiKey } from './requests.ts'
import {
  type ApiKey,
  type CreatedApiKey,
  changeKey,
  earliest,
  findOwn,
  noPrevious,
  requireUnexpired,
  withoutPast,
} from './rows.ts'
import { newSecret } from './secret.ts'

export type { ApiKey }

export type ApiKeysOptions = {
  store: ReadStore
  clock: Clock
  audit: RecordAudit
  writeAs: WriteAs
  /** Writes pending uses, so that `lastUsedAt` is right in the list that follows. */
  flushUsage(): Promise<void>
  notify: Notify
  /** Requires a code if the settings say so. @throws AppError `two_factor_required`, `two_factor_invalid` */
  withFreshCode: WithFreshCode
  /** The subscription that a key is to be bound to. @throws AppError `not_found`, `forbidden`, `validation_error` */
  subscriptionFor(queries: Queries, caller: Caller, wanted: NewApiKey): Promise<number | undefined>
  requireManageable: RequireManageable
  /** Whether keys may rotate themselves at all. */
  isSelfRotationAllowed(tx: Queries): Promise<boolean>
  /** How many keys a user may have. */
  maxKeys(tx: Queries): Promise<number>
}

/** A fresh code of the second factor, which the settings can require for creating a key or extending its life. */
type Proof = { totpCode: string | undefined }

export type ApiKeys = ReturnType<typeof createApiKeys>

export function createApiKeys(options: ApiKeysOptions) {
  const {
    store,
    clock,
    audit,
    writeAs,
    flushUsage,
    notify,
    withFreshCode,
    subscriptionFor,
    maxKeys,
    requireManageable,
    isSelfRotationAllowed,
  } = options

  const record = createRecord(audit)

  function requireFuture(expiresAt: number | null | undefined): void {
    if (typeof expiresAt === 'number' && expiresAt <= clock.now()) {
      throw new AppError('validation_error', 'expires_at: must be in the future')
    }
  }

  /** Runs in the transaction that adds the key, so that parallel requests cannot pass the limit together. */
  async function requireRoom(tx: Queries, userId: number): Promise<void> {
    const limit = await maxKeys(tx)
    const own = tx.select({ one: sql`1` }).from(apiKeys).where(eq(apiKeys.userId, userId))
    if ((await countUpTo(tx, own, limit)) < limit) return
    throw new AppError('conflict', `The limit of ${limit} API keys is reached; delete one that is no longer used`)
  }

  async function insert(tx: Queries, actor: Actor, userId: number, wanted: NewApiKey): Promise<CreatedApiKey> {
    const { name, expiresAt = null, scopes, allowedCidrs, subscriptionId = null, sites } = wanted
    const now = clock.now()
    const renewal = renewalOf(wanted, now)
    const { key, ...secret } = newSecret()
    const row = await one(
      tx
        .insert(apiKeys)
        .values({
          userId,
          name,
          ...secret,
          createdAt: now,
          expiresAt,
          scopes: scopes ? JSON.stringify(scopes) : null,
          allowedCidrs: allowedCidrs ? JSON.stringify(allowedCidrs) : null,
          subscriptionId,
          sites: sites ? JSON.stringify(sites) : null,
          noticedDays: noticesPast(expiresAt, now),
          ...renewal,
        })
        .returning(),
    )
    const { keyPrefix: prefix } = row
    await notify(tx, userId, { kind: 'api_key_created', name, prefix, expiresAt, ...renewal }, actor)
    await record(tx, actor, 'api_key.create', row, {
      expiresAt: timeOrNull(expiresAt),
      ...(scopes && { scopes: [...scopes] }),
      ...(allowedCidrs && { allowedCidrs: [...allowedCidrs] }),
      ...(subscriptionId !== null && { subscriptionId }),
      ...(sites && { sites: sites.map(String) }),
      ...(renewal.renewableUntil !== null && { renewableUntil: timeOrNull(renewal.renewableUntil) }),
    })
    return { row, key }
  }

  const present = (row: ApiKey) => withoutPast(row, clock.now())

  return {
    async list(userId: number, page: PageRequest): Promise<Page<ApiKey>> {
      await flushUsage()
      return readPage(store, page, async (afterId, wanted) => {
        const rows = await store.read
          .select()
          .from(apiKeys)
          .where(and(eq(apiKeys.userId, userId), gt(apiKeys.id, afterId)))
          .orderBy(asc(apiKeys.id))
          .limit(wanted)
        return pieceOf(rows.map(present), wanted)
      })
    },

    /** Without uses that have yet to be written. @throws AppError `not_found`, `forbidden` for another user's */
    async find(caller: Caller, id: number): Promise<ApiKey> {
      return present(await findOwn(store.read, caller, id))
    },

    /** @throws AppError `not_found`, `forbidden` for another user's */
    async get(caller: Caller, id: number): Promise<ApiKey> {
      await flushUsage()
      return present(await findOwn(store.read, caller, id))
    },

    /**
     * Creates a key for the caller. With 2FA on, this takes a fresh code if the settings require one.
     *
     * @returns the row, and the key, which is not stored anywhere
     * @throws AppError `validation_error` for an expiry that has passed, `not_found` and `forbidden` for a subscription or sites,
     * `conflict` beyond the limit of keys, `two_factor_required`, `two_factor_invalid`
     */
    async create(
      caller: Caller,
      { totpCode, ...wanted }: NewApiKey & Proof,
      conclude?: Conclude<CreatedApiKey>,
    ): Promise<CreatedApiKey> {
      requireFuture(wanted.expiresAt)
      return withFreshCode(caller, totpCode, async (tx, caller) => {
        const subscriptionId = await subscriptionFor(tx, caller, wanted)
        await requireRoom(tx, caller.userId)
        if (wanted.canRotate && !(await isSelfRotationAllowed(tx))) {
          throw new AppError('forbidden', `can_rotate: ${SELF_ROTATION_IS_OFF}`)
        }
        const created = await insert(tx, caller, caller.userId, { ...wanted, subscriptionId })
        await conclude?.(tx, created)
        return created
      })
    },

    /** Creates a key for a user, for the command line. @throws AppError `validation_error` for a past expiry */
    async createFor(actor: Actor, userId: number, wanted: NewApiKey): Promise<CreatedApiKey> {
      requireFuture(wanted.expiresAt)
      return writeAs(actor, (tx, actor) => insert(tx, actor, userId, wanted))
    },

    /**
     * Renames a key or changes its expiry, which takes a fresh code if a new key does.
     *
     * @throws AppError `not_found`, `forbidden`, `precondition_failed`, `validation_error` for an expiry that has passed,
     * `conflict` for a key that has expired, `two_factor_required`, `two_factor_invalid`
     */
    async change(
      caller: Caller,
      id: number,
      { totpCode, ...wanted }: ApiKeyChanges & Proof,
      precondition?: Precondition<ApiKey>,
    ): Promise<ApiKey> {
      requireFuture(wanted.expiresAt)
      await flushUsage()
      const work = async (tx: Queries, caller: Caller) => {
        const before = await findOwn(tx, caller, id)
        requireUnexpired(before, clock.now())
        precondition?.(present(before))
        const changes = differences(before, wanted)
        // For a key that extends itself, setting the expiry it already has is a change: the expiry becomes fixed.
        if (before.renewableUntil !== null && wanted.expiresAt !== undefined) changes.expiresAt = wanted.expiresAt
        if (changesNothing(changes)) return present(before)
        const { expiresAt } = changes
        // A key does not extend an expiry that was set by hand.
        const ending = expiresAt === undefined ? {} : { noticedDays: noticesPast(expiresAt, clock.now()), ...noRenewal }
        const changed = await changeKey(tx, id, { ...changes, ...ending })
        if (expiresAt !== undefined) {
          const { userId, name, keyPrefix: prefix } = changed
          await notify(tx, userId, { kind: 'api_key_expiry_changed', name, prefix, expiresAt })
        }
        await record(tx, caller, 'api_key.change', changed, {
          expiresAt: timeOrNull(changed.expiresAt),
          ...(before.renewableUntil !== changed.renewableUntil && { renewableUntil: null }),
        })
        return present(changed)
      }
      return wanted.expiresAt === undefined ? writeAs(caller, work) : withFreshCode(caller, totpCode, work)
    },

    /**
     * Gives a key a new secret. The old one works for the grace period; the one before that stops working now.
     *
     * @param graceSeconds 0 to 604,800
     * @throws AppError `not_found`, `forbidden`, `conflict` for a key that has expired, `two_factor_required`,
     * `two_factor_invalid`
     */
    async rotate(
      caller: Caller,
      id: number,
      { totpCode, graceSeconds }: { graceSeconds: number } & Proof,
      conclude?: Conclude<CreatedApiKey>,
    ): Promise<CreatedApiKey> {
      return withFreshCode(caller, totpCode, async (tx, caller) => {
        const before = await findOwn(tx, caller, id)
        requireUnexpired(before, clock.now())
        const { key, ...secret } = newSecret()
        const previous =
          graceSeconds === 0
            ? noPrevious
            : {
                previousKeyHash: before.keyHash,
                previousKeyPrefix: before.keyPrefix,
                previousValidUntil: earliest(clock.now() + graceSeconds * 1000, before.expiresAt),
              }
        const row = await changeKey(tx, id, { ...secret, ...previous })
        const { name, keyPrefix: prefix, previousValidUntil } = row
        await notify(tx, caller.userId, { kind: 'api_key_rotated', name, prefix, previousValidUntil })
        await record(tx, caller, 'api_key.rotate', row, {
          previousKeyPrefix: before.keyPrefix,
          previousValidUntil: timeOrNull(previousValidUntil),
        })
        await conclude?.(tx, { row, key })
        return { row, key }
      })
    },

    /**
     * Deletes another user's key and notifies its user. For administrators and the command line.
     *
     * @param ofUserId the user whose key it must be; undefined for any user's
     * @throws AppError `not_found`, `forbidden` if a key with scopes does this to an administrator's
     */
    async revoke(actor: Actor, id: number, ofUserId?: number): Promise<ApiKey> {
      return writeAs(actor, async (tx, actor) => {
        if (ofUserId !== undefined) await requireManageable(tx, actor, ofUserId, 'revoke a key of an administrator')
        const ofUser = ofUserId === undefined ? undefined : eq(apiKeys.userId, ofUserId)
        const [revoked] = await tx
          .delete(apiKeys)
          .where(and(eq(apiKeys.id, id), ofUser))
          .returning()
        if (!revoked)
          throw new AppError('not_found', ofUser ? 'The user has no such API key' : 'no API key has this id')
        const { userId, name, keyPrefix: prefix } = revoked
        await notify(tx, userId, { kind: 'api_key_deleted', name, prefix }, actor)
        await record(tx, actor, 'api_key.delete', revoked)
        return revoked
      })
    },

    /** Deletes both secrets. @throws AppError `not_found`, `forbidden` for another user's, `precondition_failed` */
    async remove(caller: Caller, id: number, precondition?: Precondition<ApiKey>): Promise<void> {
      await writeAs(caller, async (tx, caller) => {
        const found = await findOwn(tx, caller, id)
        precondition?.(present(found))
        await tx.delete(apiKeys).where(eq(apiKeys.id, id))
        await record(tx, caller, 'api_key.delete', found)
      })
    },
  }
}
