/** Sessions: the row behind each JWT. Without its row, a token is worth nothing. */
import { and, asc, eq, gt, inArray, lte, ne } from 'drizzle-orm'
import { type Actor, type Caller, type Origin, requireWithoutScopes } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Page, PageRequest } from '../../../core/page.ts'
import { sessionIdOf } from '../../../core/principal.ts'
import { newToken } from '../../../crypto/secret.ts'
import { pieceOf, readPage } from '../../../db/page-reader.ts'
import { given, prepare } from '../../../db/statements.ts'
import type { Queries, ReadStore } from '../../../db/store.ts'
import { sessions, users } from '../../../db/tables.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { WriteAs } from '../credentials/write-as.ts'

export type Session = typeof sessions.$inferSelect

export type SessionsOptions = {
  store: ReadStore
  clock: Clock
  audit: RecordAudit
  writeAs: WriteAs
  flushUsage(): Promise<void>
}

export type Sessions = ReturnType<typeof createSessions>

const USER_AGENT_LENGTH = 200
/** Expired sessions deleted at each login: more than it adds. */
const SWEEP = 50

const sweepSessions = prepare((tx) => {
  const expired = tx
    .select({ id: sessions.id })
    .from(sessions)
    .where(lte(sessions.expiresAt, given('deletableBefore')))
  return tx.delete(sessions).where(inArray(sessions.id, expired.limit(SWEEP)))
})
const addSession = prepare((tx) =>
  tx
    .insert(sessions)
    .values({
      userId: given('userId'),
      tokenId: given('tokenId'),
      address: given('address'),
      userAgent: given('userAgent'),
      createdAt: given('nowMs'),
      lastSeenAt: given('nowMs'),
      expiresAt: given('expiresAt'),
    })
    .returning(),
)

export function createSessions({ store, clock, audit, writeAs, flushUsage }: SessionsOptions) {
  /** @returns false if the user has no such session */
  async function endOf(tx: Queries, actor: Actor, userId: number, id: number): Promise<boolean> {
    const ended = await tx
      .delete(sessions)
      .where(and(eq(sessions.id, id), eq(sessions.userId, userId)))
      .returning({ id: sessions.id })
    if (ended.length === 0) return false
    await audit(tx, actor, { action: 'session.end', accountId: userId, target: { type: 'session', id } })
    return true
  }

  return {
    async list(userId: number, page: PageRequest): Promise<Page<Session>> {
      await flushUsage()
      const now = clock.now()
      return readPage(store, page, async (afterId, wanted) => {
        const rows = await store.read
          .select()
          .from(sessions)
          .where(and(eq(sessions.userId, userId), gt(sessions.expiresAt, now), gt(sessions.id, afterId)))
          .orderBy(asc(sessions.id))
          .limit(wanted)
        return pieceOf(rows, wanted)
      })
    },

    /**
     * Ends all sessions of a user, or of all users. API keys stay.
     *
     * @returns how many
     * @throws AppError `not_found`, `forbidden` if a key with scopes does this to an administrator
     */
    async endAll(actor: Actor, userId: number | undefined): Promise<number> {
      return writeAs(actor, async (tx, actor) => {
        if (userId !== undefined) await requireMayLogOut(tx, actor, userId)
        const ended = await tx
          .delete(sessions)
          .where(userId === undefined ? undefined : eq(sessions.userId, userId))
          .returning({ id: sessions.id })
        await audit(tx, actor, {
          action: 'session.end',
          accountId: userId ?? null,
          details: { everybody: userId === undefined, ended: ended.length },
        })
        return ended.length
      })
    },

    /**
     * Ends one session of a user.
     *
     * @throws AppError `not_found` for an unknown user or one without this session, `forbidden` if a key with scopes
     * does this to an administrator
     */
    async endOne(actor: Actor, userId: number, id: number): Promise<void> {
      await writeAs(actor, async (tx, actor) => {
        await requireMayLogOut(tx, actor, userId)
        if (!(await endOf(tx, actor, userId, id))) throw new AppError('not_found', 'The user has no such session')
      })
    },

    /** Ends the calling session. */
    async logout(caller: Caller): Promise<void> {
      const id = sessionIdOf(caller)
      await writeAs(caller, async (tx, caller) => {
        await tx.delete(sessions).where(eq(sessions.id, id))
        await audit(tx, caller, { action: 'auth.logout', accountId: caller.userId, target: { type: 'session', id } })
      })
    },

    /** @throws AppError `not_found`, `forbidden` for another user's */
    async end(caller: Caller, id: number): Promise<void> {
      await writeAs(caller, async (tx, caller) => {
        if (await endOf(tx, caller, caller.userId, id)) return
        const [other] = await tx.select({ id: sessions.id }).from(sessions).where(eq(sessions.id, id))
        throw other
          ? new AppError('forbidden', "This is another user's session")
          : new AppError('not_found', 'No such session')
      })
    },

    /** Ends a user's sessions, all or all but one, in the transaction that takes the access away. */
    async endWithin(tx: Queries, userId: number, keepSessionId?: number): Promise<void> {
      const all = eq(sessions.userId, userId)
      await tx.delete(sessions).where(keepSessionId === undefined ? all : and(all, ne(sessions.id, keepSessionId)))
    },
  }
}

/**
 * Starts a session in the caller's transaction, and sweeps expired ones.
 *
 * @param ttlSeconds how long it lasts; it expires on a whole second, like a JWT's `exp`
 */
export async function beginSession(
  tx: Queries,
  user: { userId: number; ttlSeconds: number; nowMs: number; deletableBefore: number },
  origin: Origin,
): Promise<Session> {
  const { userId, ttlSeconds, nowMs, deletableBefore } = user
  await sweepSessions.run(tx, { deletableBefore })
  return addSession.one(tx, {
    userId,
    tokenId: newToken(),
    address: origin.address,
    userAgent: origin.userAgent.slice(0, USER_AGENT_LENGTH),
    nowMs,
    expiresAt: (Math.floor(nowMs / 1000) + ttlSeconds) * 1000,
  })
}

/** @throws AppError `not_found` for an unknown user, `forbidden` if a key with scopes does this to an administrator */
async function requireMayLogOut(tx: Queries, actor: Actor, userId: number): Promise<void> {
  const [user] = await tx.select({ role: users.role }).from(users).where(eq(users.id, userId))
  if (!user) throw new AppError('not_found', 'No such user')
  if (user.role === 'admin') requireWithoutScopes(actor, 'end the sessions of an administrator')
}
