/** Sessions: the row behind each JWT. Without its row, a token is worth nothing. */
import { and, asc, eq, gt, lte, ne } from 'drizzle-orm'
import type { Actor, Caller, Origin } from '../../core/actor.ts'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import { type Page, type PageRequest, pageOf } from '../../core/page.ts'
import { sessionIdOf } from '../../core/principal.ts'
import { newToken } from '../../crypto/secret.ts'
import { given, prepared } from '../../db/prepared.ts'
import type { Queries, Store } from '../../db/store.ts'
import { sessions } from '../../db/tables.ts'
import type { RecordAudit } from '../audit/audit.ts'

export type Session = typeof sessions.$inferSelect

export type SessionsOptions = { store: Store; clock: Clock; audit: RecordAudit; flushUsage(): Promise<void> }

export type Sessions = ReturnType<typeof createSessions>

const USER_AGENT_LENGTH = 200

const sweepSessions = prepared((tx) =>
  tx
    .delete(sessions)
    .where(lte(sessions.expiresAt, given('nowMs')))
    .prepare(),
)
const addSession = prepared((tx) =>
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
    .returning()
    .prepare(),
)

export function createSessions({ store, clock, audit, flushUsage }: SessionsOptions) {
  /** @returns false where the user has no such session */
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
      const rows = await store.read
        .select()
        .from(sessions)
        .where(and(eq(sessions.userId, userId), gt(sessions.expiresAt, clock.now()), gt(sessions.id, page.afterId)))
        .orderBy(asc(sessions.id))
        .limit(page.limit + 1)
      return pageOf(rows, page)
    },

    /**
     * Ends all sessions of a user, or of everybody. API keys stay.
     *
     * @returns how many
     */
    async endAll(actor: Actor, userId: number | undefined): Promise<number> {
      return store.write(async (tx) => {
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

    /** Ends one session of a user, whoever asks. @throws AppError `not_found` where the user has no such session */
    async endOne(actor: Actor, userId: number, id: number): Promise<void> {
      await store.write(async (tx) => {
        if (!(await endOf(tx, actor, userId, id))) throw new AppError('not_found', 'The user has no such session')
      })
    },

    /** Ends the session that asks. */
    async logout(caller: Caller): Promise<void> {
      const id = sessionIdOf(caller)
      await store.write(async (tx) => {
        const ended = await tx.delete(sessions).where(eq(sessions.id, id)).returning({ id: sessions.id })
        // Two logouts at once: the session is ended all the same.
        if (ended.length === 0) return
        await audit(tx, caller, { action: 'auth.logout', accountId: caller.userId, target: { type: 'session', id } })
      })
    },

    /** @throws AppError `not_found`, `forbidden` for another user's */
    async end(caller: Caller, id: number): Promise<void> {
      await store.write(async (tx) => {
        if (await endOf(tx, caller, caller.userId, id)) return
        const [other] = await tx.select({ id: sessions.id }).from(sessions).where(eq(sessions.id, id))
        throw other
          ? new AppError('forbidden', "This is another user's session")
          : new AppError('not_found', 'No such session')
      })
    },
  }
}

/**
 * Begins a session in the caller's transaction, and sweeps those that have expired.
 *
 * @param ttlSeconds how long it lasts; the expiry is a whole second, as a JWT's `exp` is
 */
export async function beginSession(
  tx: Queries,
  user: { userId: number; ttlSeconds: number; nowMs: number },
  origin: Origin,
): Promise<Session> {
  const { userId, ttlSeconds, nowMs } = user
  await sweepSessions(tx).run({ nowMs })
  return addSession(tx).get({
    userId,
    tokenId: newToken(),
    address: origin.address,
    userAgent: origin.userAgent.slice(0, USER_AGENT_LENGTH),
    nowMs,
    expiresAt: (Math.floor(nowMs / 1000) + ttlSeconds) * 1000,
  })
}

/**
 * In the transaction of what a session has asked for and proven before: one that was ended meanwhile, by a new password
 * say, must not finish it.
 *
 * @throws AppError `not_authenticated`
 */
export async function requireSession(tx: Queries, caller: Caller): Promise<void> {
  const own = and(eq(sessions.id, sessionIdOf(caller)), eq(sessions.userId, caller.userId))
  if ((await tx.$count(sessions, own)) === 0) throw new AppError('not_authenticated')
}

/** Ends a user's sessions, all or all but one. */
export async function endSessions(tx: Queries, userId: number, keepSessionId?: number): Promise<void> {
  const all = eq(sessions.userId, userId)
  await tx.delete(sessions).where(keepSessionId === undefined ? all : and(all, ne(sessions.id, keepSessionId)))
}
