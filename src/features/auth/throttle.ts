/** Throttles guesses at one account over all addresses, without letting a stranger lock the owner out. */
import { and, eq, gt, lt, sql } from 'drizzle-orm'
import type { Actor } from '../../core/actor.ts'
import type { Clock } from '../../core/clock.ts'
import type { Queries, Store } from '../../db/store.ts'
import { knownAddresses, strangers, users } from '../../db/tables.ts'
import type { RecordAudit } from '../audit/audit.ts'

/** NIST SP 800-63B-4 §3.2.2: at most 100 consecutive failures, passwords and codes counted alike. */
const MAX_FAILED_ATTEMPTS = 100
/** How long an address stays known after a login from it. */
const KNOWN_MS = 30 * 24 * 60 * 60 * 1000
const THE_STRANGERS = 1
/** An id that no row has. */
const NOBODY = 0

export type Throttle = ReturnType<typeof createThrottle>

export function createThrottle({ store, clock, audit }: { store: Store; clock: Clock; audit: RecordAudit }) {
  const openKnownAddress = (userId: number, addressGroup: string) =>
    and(
      eq(knownAddresses.userId, userId),
      eq(knownAddresses.addressGroup, addressGroup),
      lt(knownAddresses.failedAttempts, MAX_FAILED_ATTEMPTS),
      gt(knownAddresses.lastLoginAt, clock.now() - KNOWN_MS),
    )

  return {
    /**
     * Counts an attempt before it is verified, so that a burst of parallel guesses can't pass the limit together,
     * and in a transaction of its own, so that nothing that fails later takes the count back.
     *
     * @param userId undefined for an email that nobody has, which costs the same
     * @param addressGroup where the attempt comes from
     * @returns whether it may be verified. Not to be shown: it would tell a guesser to move on.
     */
    async admit(userId: number | undefined, addressGroup: string): Promise<boolean> {
      return store.writeSoon(async (tx) => {
        if (userId === undefined) {
          await countStranger(tx)
          return false
        }
        const counted = await tx
          .update(users)
          .set({ failedAttempts: sql`${users.failedAttempts} + 1` })
          .where(and(eq(users.id, userId), lt(users.failedAttempts, MAX_FAILED_ATTEMPTS)))
          .returning({ id: users.id })
        if (counted.length > 0) return true
        // An address that this account logged in from lately has a count of its own, which strangers can't use up.
        const known = await tx
          .update(knownAddresses)
          .set({ failedAttempts: sql`${knownAddresses.failedAttempts} + 1` })
          .where(openKnownAddress(userId, addressGroup))
          .returning({ id: knownAddresses.userId })
        if (known.length > 0) return true
        // Without a write there is no commit to wait for, and an answer that comes sooner tells of an account that is closed.
        await countStranger(tx)
        return false
      })
    },

    /**
     * Whether this account was logged in from this address lately, and has not failed too often from there since.
     *
     * @param userId undefined for an email that nobody has, which costs the same
     */
    async knows(userId: number | undefined, addressGroup: string): Promise<boolean> {
      const known = await store.read
        .select({ id: knownAddresses.userId })
        .from(knownAddresses)
        .where(openKnownAddress(userId ?? NOBODY, addressGroup))
      return known.length > 0
    },

    /**
     * Takes the count back to zero and remembers the address, in the transaction of a login.
     *
     * @returns whether the address was known
     */
    async succeed(tx: Queries, userId: number, addressGroup: string): Promise<boolean> {
      await forgive(tx, userId)
      const seen = { failedAttempts: 0, lastLoginAt: clock.now() }
      await tx.delete(knownAddresses).where(lt(knownAddresses.lastLoginAt, clock.now() - KNOWN_MS))
      const known = await tx
        .update(knownAddresses)
        .set(seen)
        .where(and(eq(knownAddresses.userId, userId), eq(knownAddresses.addressGroup, addressGroup)))
        .returning({ id: knownAddresses.userId })
      if (known.length === 0) await tx.insert(knownAddresses).values({ userId, addressGroup, ...seen })
      return known.length > 0
    },

    /** Lets a throttled user try again, for the command line. */
    async unlock(actor: Actor, userId: number): Promise<void> {
      await store.write(async (tx) => {
        await forgive(tx, userId)
        await audit(tx, actor, { action: 'auth.unlock', accountId: userId, target: { type: 'user', id: userId } })
      })
    },
  }
}

/** Writes as much as counting for a user does, so that an email that nobody has costs a commit too. */
export async function countStranger(tx: Queries): Promise<void> {
  const one = { id: THE_STRANGERS, failedAttempts: 1 }
  const more = { failedAttempts: sql`${strangers.failedAttempts} + 1` }
  await tx.insert(strangers).values(one).onConflictDoUpdate({ target: strangers.id, set: more })
}

/** Forgets the failures of a user, at every address. */
export async function forgive(tx: Queries, userId: number): Promise<void> {
  await tx.update(users).set({ failedAttempts: 0 }).where(eq(users.id, userId))
  await tx.update(knownAddresses).set({ failedAttempts: 0 }).where(eq(knownAddresses.userId, userId))
}
