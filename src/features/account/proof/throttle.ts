/** Throttles guesses on an account, over all addresses, without letting a stranger lock its owner out. */
import { eq, sql } from 'drizzle-orm'
import { type Caller, panelItself } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import { sessionIdOf } from '../../../core/principal.ts'
import { isPassing } from '../../../db/failures.ts'
import { given, prepare } from '../../../db/statements.ts'
import type { Queries, Store } from '../../../db/store.ts'
import { strangers, users } from '../../../db/tables.ts'
import type { Log } from '../../../log/log.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import {
  type AllowancePolicy,
  nextUseAt,
  readAllowances,
  resetAllowance,
  resetAllowances,
  spendAllowance,
  sweepAllowances,
  type UsedAllowance,
  usesOf,
  writeAllowance,
} from '../allowance.ts'
import type { WriteAs } from '../credentials/write-as.ts'
import type { Notify } from '../notices.ts'
import { findAddress, forgetOldAddresses, noteLogin, noteReset } from './known-addresses.ts'

const MINUTE_MS = 60 * 1000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/**
 * Attempts at one door: ten at once, then one after 1 minute, 2, 4 and so on up to 9 hours, then one every 9 hours: at
 * most 100 in any 30 days (NIST SP 800-63B-4 §3.2.2), passwords and codes counted alike.
 */
export const ATTEMPTS: AllowancePolicy = { free: 10, firstDelayMs: MINUTE_MS, longestDelayMs: 9 * HOUR_MS }
/** The emails about it: one a week. */
const NOTICES: AllowancePolicy = { free: 1, firstDelayMs: 7 * DAY_MS, longestDelayMs: 7 * DAY_MS }
/** How long an address stays known after a login from it. */
const KNOWN_MS = 30 * DAY_MS
/** How long a user with two-factor authentication can log in from the address of a password reset. */
const RESET_MS = DAY_MS
const THE_STRANGERS = 1
/** An id that no row has. */
const NOBODY = 0

/**
 * Where an attempt comes in: each door of an account has its own allowance, and an attempt counts at one door.
 * `strangers` is shared by all unknown addresses.
 */
export type Door = 'door strangers' | 'door reset' | `door address ${string}` | `door session ${number}`

const DOORS = 'door '
const STRANGERS: Door = 'door strangers'
const RESET: Door = 'door reset'
const NOTICE = 'notice'
const doorOfAddress = (addressGroup: string): Door => `door address ${addressGroup}`
const doorOfSession = (caller: Caller): Door => `door session ${sessionIdOf(caller)}`

const findUser = prepare((queries) =>
  queries
    .select({ id: users.id })
    .from(users)
    .where(eq(users.id, given('userId'))),
)
const countAtStrangers = prepare((tx) =>
  tx
    .insert(strangers)
    .values({ id: THE_STRANGERS, failedAttempts: 1 })
    .onConflictDoUpdate({ target: strangers.id, set: { failedAttempts: sql`${strangers.failedAttempts} + 1` } }),
)

export type ThrottleState = {
  /** Attempts that have not been forgotten yet. */
  failedAttempts: number
  /** In milliseconds since the epoch; null if one is possible now. */
  nextAttemptAt: number | null
}

export type ThrottleOptions = {
  store: Store
  writeSoonAs: WriteAs
  clock: Clock
  /** Rows that expired before this may be deleted for good. */
  deletableBefore(): number
  log: Log
  audit: RecordAudit
  notify: Notify
}

export type Throttle = ReturnType<typeof createThrottle>

export function createThrottle(options: ThrottleOptions) {
  const { store, writeSoonAs, clock, deletableBefore, log, audit, notify } = options
  /** Users whose account has a door that narrowed, and which one, until they are notified. */
  const narrowed = new Map<number, Door>()

  /** The doors for a login from an address, in the order in which they are tried. */
  async function doorsFor(queries: Queries, userId: number, addressGroup: string): Promise<Door[]> {
    const address = await findAddress.first(queries, { userId, addressGroup })
    const now = clock.now()
    const isKnown = address !== undefined && address.lastLoginAt > now - KNOWN_MS
    const wasReset = address !== undefined && (address.resetAt ?? 0) > now - RESET_MS
    return [...(isKnown ? [doorOfAddress(addressGroup)] : []), ...(wasReset ? [RESET] : []), STRANGERS]
  }

  /** @returns the first open door, and its state once an attempt has come through */
  async function findOpenDoor(queries: Queries, userId: number, doors: readonly Door[]) {
    const used = await readAllowances(queries, userId, doors)
    for (const door of doors) {
      const before = used.get(door)
      const after = spendAllowance(ATTEMPTS, before, clock.now())
      if (after) return { door, before, after }
    }
    return undefined
  }

  /** @returns the door at which the attempt was counted, undefined if all are closed */
  async function count(tx: Queries, userId: number, doors: readonly Door[]): Promise<Door | undefined> {
    const open = await findOpenDoor(tx, userId, doors)
    if (!open || userId === NOBODY) {
      // Without a write there is no commit to wait for, and a faster response would reveal that the account is closed.
      await countStranger(tx)
      return undefined
    }
    await writeAllowance(tx, userId, open.door, open.after)
    if (isNarrowing(open.before, open.after)) narrowed.set(userId, open.door)
    return open.door
  }

  function isNarrowing(before: UsedAllowance | undefined, after: UsedAllowance): boolean {
    const uses = (used: UsedAllowance | undefined) => Math.ceil(usesOf(ATTEMPTS, used, clock.now()))
    return uses(before) < ATTEMPTS.free && uses(after) >= ATTEMPTS.free
  }

  async function tell(tx: Queries, userId: number, door: Door): Promise<void> {
    const before = (await readAllowances(tx, userId, [NOTICE])).get(NOTICE)
    const after = spendAllowance(NOTICES, before, clock.now())
    if (!after) return
    await writeAllowance(tx, userId, NOTICE, after)
    const inSession = door.startsWith('door session')
    await notify(tx, userId, { kind: inSession ? 'session_attempts_slowed' : 'login_attempts_slowed' })
    await audit(tx, panelItself, { action: 'auth.throttle', accountId: userId, target: { type: 'user', id: userId } })
  }

  return {
    /**
     * Counts a login attempt before it is verified, so that a burst of parallel guesses cannot pass the limit together,
     * and in its own transaction, so that no later failure takes the count back.
     *
     * @param userId undefined for an unknown email, which costs the same
     * @param addressGroup where the attempt comes from
     * @returns the door it came through; undefined if it may not be verified. Not to be shown: it would tell a guesser
     * to move on.
     */
    async admit(userId: number | undefined, addressGroup: string): Promise<Door | undefined> {
      const id = userId ?? NOBODY
      return store.writeSoon(async (tx) => {
        // The user may have been deleted since the login looked it up.
        const present = (await findUser.first(tx, { userId: id })) ?? { id: NOBODY }
        return count(tx, present.id, await doorsFor(tx, present.id, addressGroup))
      })
    },

    /**
     * Counts an attempt of a logged-in user, at the session: strangers cannot use that allowance up, and a thief of the
     * session cannot guess without limit.
     *
     * @throws AppError `not_authenticated` and the like, if the session or its rights have ended
     */
    async admitCaller(caller: Caller): Promise<boolean> {
      const door = await writeSoonAs(caller, (tx) => count(tx, caller.userId, [doorOfSession(caller)]))
      return door !== undefined
    },

    /**
     * Whether this account was logged in to from this address within 30 days, or its password reset from there, with
     * attempts left for that.
     *
     * @param userId undefined for an unknown email, which costs the same
     */
    async knows(userId: number | undefined, addressGroup: string): Promise<boolean> {
      const id = userId ?? NOBODY
      const doors = await doorsFor(store.read, id, addressGroup)
      const open = await findOpenDoor(store.read, id, doors)
      return open !== undefined && open.door !== STRANGERS
    },

    /**
     * Forgets the attempts at the doors that a login came through, and remembers its address, in its transaction.
     *
     * @returns whether the address was known
     */
    async succeed(tx: Queries, userId: number, addressGroup: string, door: Door): Promise<boolean> {
      const now = clock.now()
      const doors = await doorsFor(tx, userId, addressGroup)
      for (const own of new Set([door, doorOfAddress(addressGroup)])) await resetAllowance(tx, userId, own)
      const before = deletableBefore()
      await forgetOldAddresses.run(tx, { since: before - KNOWN_MS })
      await sweepAllowances(tx, before)
      await noteLogin.run(tx, { userId, addressGroup, now })
      return doors.includes(doorOfAddress(addressGroup))
    },

    /**
     * Lets in an owner who has set a new password with a token, in the transaction that sets it. With two-factor
     * authentication on, a mailbox is one factor of two: all resets share one allowance for the second.
     */
    async trust(tx: Queries, userId: number, addressGroup: string, hasTwoFactor: boolean): Promise<void> {
      const now = clock.now()
      if (!hasTwoFactor) {
        await forgiveAll(tx, userId)
        await noteLogin.run(tx, { userId, addressGroup, now })
      } else {
        await noteReset.run(tx, { userId, addressGroup, now })
      }
    },

    /** How many guesses unknown addresses have made at an account, and when the next attempt is possible. */
    async stateOf(userId: number): Promise<ThrottleState> {
      const now = clock.now()
      const used = (await readAllowances(store.read, userId, [STRANGERS])).get(STRANGERS)
      return {
        failedAttempts: Math.ceil(usesOf(ATTEMPTS, used, now)),
        nextAttemptAt: nextUseAt(ATTEMPTS, used, now) ?? null,
      }
    },

    /**
     * Notifies the owners of accounts where guessing was slowed down. Not in the attempt's transaction, where it would
     * show in the response time. Never throws; a failure is logged.
     */
    async flush(): Promise<void> {
      for (const [userId, door] of [...narrowed]) {
        narrowed.delete(userId)
        await store
          .write((tx) => tell(tx, userId, door))
          .catch((err) => {
            log.error({ err }, 'an email about many failed attempts could not be queued')
            if (isPassing(err) && !narrowed.has(userId)) narrowed.set(userId, door)
          })
      }
    },
  }
}

/** Whether a user has logged in from an address within 30 days. */
export async function isKnownAddress(
  queries: Queries,
  userId: number,
  addressGroup: string,
  nowMs: number,
): Promise<boolean> {
  const address = await findAddress.first(queries, { userId, addressGroup })
  return address !== undefined && address.lastLoginAt > nowMs - KNOWN_MS
}

/** Writes as much as counting for a user does, so that an unknown email costs a commit too. */
export async function countStranger(tx: Queries): Promise<void> {
  await countAtStrangers.run(tx)
}

/** Forgets the failed attempts of a session that has now succeeded, in the transaction of what it requested. */
export async function forgive(tx: Queries, caller: Caller): Promise<void> {
  await resetAllowance(tx, caller.userId, doorOfSession(caller))
}

/** Forgets the failed attempts at a user's account, at every door. */
export async function forgiveAll(tx: Queries, userId: number): Promise<void> {
  await resetAllowances(tx, userId, DOORS)
}
