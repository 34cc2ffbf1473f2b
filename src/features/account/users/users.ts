/** Users, as administrators and the command line see them. */

import { and, asc, eq, exists, gt, isNotNull, ne, or, type SQL, sql } from 'drizzle-orm'
import { type Actor, requireWithoutScopes } from '../../../core/actor.ts'
import { changesNothing, differences } from '../../../core/changes.ts'
import type { Clock } from '../../../core/clock.ts'
import { normalizeEmail } from '../../../core/email.ts'
import { AppError } from '../../../core/errors.ts'
import type { Page, PageRequest } from '../../../core/page.ts'
import type { Precondition } from '../../../core/precondition.ts'
import type { Role } from '../../../core/principal.ts'
import { contains, containsIgnoringCase } from '../../../db/expressions.ts'
import { isUniqueViolation } from '../../../db/failures.ts'
import { pieceOf, readPage } from '../../../db/page-reader.ts'
import { one } from '../../../db/statements.ts'
import type { Conclude, Queries, ReadStore } from '../../../db/store.ts'
import { users } from '../../../db/tables.ts'
import { searchWindow } from '../../../db/window.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { WriteAs } from '../credentials/write-as.ts'
import { voidPasswordTokens } from '../proof/password-tokens.ts'
import type { Activation, IssueActivation } from './activation.ts'

export type User = typeof users.$inferSelect
/** The token is not stored anywhere. */
export type InvitedUser = { user: User; activation: Activation }
export type NewUser = { email: string; name: string; role: Role }
export type UserChanges = { name?: string; role?: Role; status?: 'active' | 'disabled' }

/** `email` and `name` are parts of what they name. */
export type UserFilter = { email?: string; name?: string; role?: Role; status?: User['status'] }

export type UsersOptions = {
  store: ReadStore
  clock: Clock
  audit: RecordAudit
  writeAs: WriteAs
  /** Ends a user's sessions, in the transaction that takes the access away. */
  endSessions(tx: Queries, userId: number): Promise<void>
  issueActivation: IssueActivation
}

export type Users = ReturnType<typeof createUsers>

export function createUsers({ store, clock, audit, writeAs, endSessions, issueActivation }: UsersOptions) {
  async function insert(tx: Queries, actor: Actor, user: NewUser, passwordHash: string | null): Promise<User> {
    const now = clock.now()
    const row = await one(
      tx
        .insert(users)
        .values({
          ...user,
          email: normalizeEmail(user.email),
          passwordHash,
          status: 'active',
          createdAt: now,
          updatedAt: now,
        })
        .returning(),
    )
    const { id, email, role } = row
    await audit(tx, actor, {
      action: 'user.create',
      accountId: id,
      target: { type: 'user', id },
      details: { email, role },
    })
    return row
  }

  return {
    requireManageable,

    async list(page: PageRequest, { email, name, role, status }: UserFilter = {}): Promise<Page<User>> {
      const filter = and(
        email === undefined ? undefined : contains(users.email, normalizeEmail(email)),
        name === undefined ? undefined : containsIgnoringCase(users.name, name),
        role === undefined ? undefined : eq(users.role, role),
        status === undefined ? undefined : eq(users.status, status),
      )
      const read = (within: SQL | undefined, wanted: number) =>
        store.read.select().from(users).where(and(within, filter)).orderBy(asc(users.id)).limit(wanted)
      return readPage<User>(store, page, async (afterId, wanted) =>
        filter
          ? searchWindow(store.read, users, { afterId, wanted }, read)
          : pieceOf(await read(gt(users.id, afterId), wanted), wanted),
      )
    },

    /** @throws AppError `not_found` */
    async get(id: number): Promise<User> {
      const [user] = await store.read.select().from(users).where(eq(users.id, id))
      if (!user) throw new AppError('not_found', 'No such user')
      return user
    },

    async findByEmail(email: string): Promise<User | undefined> {
      const [user] = await store.read
        .select()
        .from(users)
        .where(eq(users.email, normalizeEmail(email)))
      return user
    },

    async count(): Promise<number> {
      return store.read.$count(users)
    },

    /**
     * Creates a user who has yet to choose a password, and the token for doing so, which is shown only this once.
     *
     * @throws AppError `conflict` if the email is taken, `forbidden` if a key with scopes creates an administrator
     */
    async invite(actor: Actor, user: NewUser, conclude?: Conclude<InvitedUser>): Promise<InvitedUser> {
      return writeAs(actor, async (tx, actor) => {
        if (user.role === 'admin') requireWithoutScopes(actor, 'create an administrator')
        const row = await insert(tx, actor, user, null)
        const invited = { user: row, activation: await issueActivation(tx, row) }
        await conclude?.(tx, invited)
        return invited
      }).catch(emailTaken)
    },

    /**
     * Gives a user who has not chosen a password yet a new token; the previous one is void.
     *
     * @throws AppError `not_found`, `conflict` for a user who has a password or is disabled, `forbidden` if a key with
     * scopes does this for an administrator
     */
    async renewActivation(actor: Actor, id: number): Promise<Activation> {
      return writeAs(actor, async (tx, actor) => {
        const [user] = await tx.select().from(users).where(eq(users.id, id))
        if (!user) throw new AppError('not_found', 'No such user')
        if (user.role === 'admin') requireWithoutScopes(actor, 'activate an administrator')
        if (user.passwordHash !== null || user.status !== 'active') {
          throw new AppError('conflict', 'Only an active user without a password can be activated')
        }
        await audit(tx, actor, { action: 'user.activation_renew', accountId: id, target: { type: 'user', id } })
        return issueActivation(tx, user)
      })
    },

    /** Creates a user with a password, for the command line. @throws AppError `conflict` if the email is taken */
    async create(actor: Actor, user: NewUser, passwordHash: string): Promise<User> {
      return writeAs(actor, (tx) => insert(tx, actor, user, passwordHash)).catch(emailTaken)
    },

    /**
     * A new role or status ends the user's sessions; keys follow at their next request, which reads both again. A new
     * role also voids the tokens with which a password could be set.
     *
     * @throws AppError `not_found`, `precondition_failed`, `conflict` if no active administrator would be left,
     * `forbidden` if a key with scopes does this to an administrator
     */
    async change(actor: Actor, id: number, wanted: UserChanges, precondition?: Precondition<User>): Promise<User> {
      return writeAs(actor, async (tx, actor) => {
        const [before] = await tx.select().from(users).where(eq(users.id, id))
        if (!before) throw new AppError('not_found', 'No such user')
        const changes = differences(before, wanted)
        const { role = before.role, status = before.status } = changes
        if (before.role === 'admin') requireWithoutScopes(actor, 'change an administrator')
        else if (role === 'admin') requireWithoutScopes(actor, 'make a user an administrator')
        precondition?.(before)
        if (changesNothing(changes)) return before
        const staysAdministrator = role === 'admin' && status === 'active'
        const [changed] = await tx
          .update(users)
          .set({ ...changes, updatedAt: clock.now() })
          .where(and(eq(users.id, id), staysAdministrator ? undefined : isNotLastAdministrator(tx, id)))
          .returning()
        if (!changed) throw lastAdministrator()
        if (role !== before.role || status !== before.status) await endSessions(tx, id)
        // The holder of a customer's token must not become the holder of an administrator's.
        if (role !== before.role) await voidPasswordTokens(tx, id)
        await audit(tx, actor, { action: 'user.change', accountId: id, target: { type: 'user', id }, details: changes })
        return changed
      })
    },

    /**
     * Deletes a user and everything the user has: sessions, keys, subscriptions and their sites.
     *
     * @throws AppError `not_found`, `precondition_failed`, `conflict` if no active administrator would be left,
     * `forbidden` if a key with scopes does this to an administrator
     */
    async remove(actor: Actor, id: number, precondition?: Precondition<User>): Promise<void> {
      await writeAs(actor, async (tx, actor) => {
        const [found] = await tx.select().from(users).where(eq(users.id, id))
        if (!found) throw new AppError('not_found', 'No such user')
        if (found.role === 'admin') requireWithoutScopes(actor, 'delete an administrator')
        precondition?.(found)
        const removed = await tx
          .delete(users)
          .where(and(eq(users.id, id), isNotLastAdministrator(tx, id)))
          .returning({ id: users.id })
        if (removed.length === 0) throw lastAdministrator()
        const { email } = found
        await audit(tx, actor, {
          action: 'user.delete',
          accountId: id,
          target: { type: 'user', id },
          details: { email },
        })
      })
    },
  }
}

/**
 * Checks that the actor may do something to a user's account.
 *
 * @param what is done, for a user who is an administrator: worded to follow "may not"
 * @throws AppError `not_found`, `forbidden` if a key with scopes does this to an administrator
 */
export type RequireManageable = (queries: Queries, actor: Actor, id: number, what: string) => Promise<void>

const requireManageable: RequireManageable = async (queries, actor, id, what) => {
  const [user] = await queries.select({ role: users.role }).from(users).where(eq(users.id, id))
  if (!user) throw new AppError('not_found', 'No such user')
  if (user.role === 'admin') requireWithoutScopes(actor, what)
}

/**
 * Checked in WHERE rather than by a read before: two administrators who demote each other at once cannot both succeed.
 * An invited one without a password does not count, because no administrator could log in if the invitation expired.
 */
function isNotLastAdministrator(tx: Queries, id: number) {
  const others = tx
    .select({ id: users.id })
    .from(users)
    // The role as a literal, not a parameter: only then does SQLite use the index of administrators.
    .where(and(sql`role = 'admin'`, eq(users.status, 'active'), isNotNull(users.passwordHash), ne(users.id, id)))
  return or(ne(users.role, 'admin'), ne(users.status, 'active'), exists(others))
}

function lastAdministrator(): AppError {
  return new AppError('conflict', 'This is the last active administrator; make another one first')
}

function emailTaken(error: unknown): never {
  if (isUniqueViolation(error)) throw new AppError('conflict', 'email: another user has this address')
  throw error
}
