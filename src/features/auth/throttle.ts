/** Throttles guesses at one account over all addresses, without letting a stranger lock the owner out. */
import { and, eq, gt, lt, sql } from 'drizzle-orm'
import type { Actor } from '../../core/actor.ts'
import type { Clock } from '../../core/clock.ts'
import { given, prepared } from '../../db/prepared.ts'
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

const isOfUser = eq(users.id, given('userId'))
const isKnownAddress = and(
  eq(knownAddresses.userId, given('userId')),
  eq(knownAddresses.addressGroup, given('addressGroup')),
)
const isOpenKnownAddress = and(
  isKnownAddress,
  lt(knownAddresses.failedAttempts, MAX_FAILED_ATTEMPTS),
  gt(knownAddresses.lastLoginAt, given('since')),
)

const countAtUser = prepared((tx) =>
  tx
    .update(users)
    .set({ failedAttempts: sql`${users.failedAttempts} + 1` })
    .where(and(isOfUser, lt(users.failedAttempts, MAX_FAILED_ATTEMPTS)))
    .returning({ id: users.id })
    .prepare(),
)
const countAtKnownAddress = prepared((tx) =>
  tx
    .update(knownAddresses)
    .set({ failedAttempts: sql`${knownAddresses.failedAttempts} + 1` })
    .where(isOpenKnownAddress)
    .returning({ id: knownAddresses.userId })
    .prepare(),
)
const countAtStrangers = prepared((tx) =>
  tx
    .insert(strangers)
    .values({ id: THE_STRANGERS, failedAttempts: 1 })
    .onConflictDoUpdate({ target: strangers.id, set: { failedAttempts: sql`${strangers.failedAttempts} + 1` } })
    .prepare(),
)
const findOpenKnownAddress = prepared((queries) =>
  queries.select({ id: knownAddresses.userId }).from(knownAddresses).where(isOpenKnownAddress).prepare(),
)
const forgetOldAddresses = prepared((tx) =>
  tx
    .delete(knownAddresses)
    .where(lt(knownAddresses.lastLoginAt, given('since')))
    .prepare(),
)
const seeKnownAddress = prepared((tx) =>
  tx
    .update(knownAddresses)
    .set({ failedAttempts: 0, lastLoginAt: given('now') })
    .where(isKnownAddress)
    .returning({ id: knownAddresses.userId })
    .prepare(),
)
const addKnownAddress = prepared((tx) =>
  tx
    .insert(knownAddresses)
    .values({
      userId: given('userId'),
      addressGroup: given('addressGroup'),
      failedAttempts: 0,
      lastLoginAt: given('now'),
    })
    .prepare(),
)
const forgiveUser = prepared((tx) => tx.update(users).set({ failedAttempts: 0 }).where(isOfUser).prepare())
const forgiveAddresses = prepared((tx) =>
  tx
    .update(knownAddresses)
    .set({ failedAttempts: 0 })
    .where(eq(knownAddresses.userId, given('userId')))
    .prepare(),
)

export type Throttle = ReturnType<typeof createThrottle>

export function createThrottle({ store, clock, audit }: { store: Store; clock: Clock; audit: RecordAudit }) {
  /** Since when a login makes an address known. */
  const since = () => clock.now() - KNOWN_MS

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
        const counted = await countAtUser(tx).all({ userId })
        if (counted.length > 0) return true
        // An address that this account logged in from lately has a count of its own, which strangers can't use up.
        const known = await countAtKnownAddress(tx).all({ userId, addressGroup, since: since() })
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
      const about = { userId: userId ?? NOBODY, addressGroup, since: since() }
      const known = await findOpenKnownAddress(store.read).all(about)
      return known.length > 0
    },

    /**
     * Takes the count back to zero and remembers the address, in the transaction of a login.
     *
     * @returns whether the address was known
     */
    async succeed(tx: Queries, userId: number, addressGroup: string): Promise<boolean> {
      await forgive(tx, userId)
      await forgetOldAddresses(tx).run({ since: since() })
      const seen = { userId, addressGroup, now: clock.now() }
      const known = await seeKnownAddress(tx).all(seen)
      if (known.length === 0) await addKnownAddress(tx).run(seen)
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
  await countAtStrangers(tx).run()
}

/** Forgets the failures of a user, at every address. */
export async function forgive(tx: Queries, userId: number): Promise<void> {
  await forgiveUser(tx).run({ userId })
  await forgiveAddresses(tx).run({ userId })
}
