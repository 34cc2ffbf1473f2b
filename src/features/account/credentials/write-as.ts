/** Transactions on behalf of an actor: each checks again that its caller may still do what the guard let through. */
import type { Actor, Caller } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Principal, Role } from '../../../core/principal.ts'
import { Rejected, Rejection } from '../../../core/rejection.ts'
import { authorize } from '../../../core/rights.ts'
import type { Queries, Store } from '../../../db/store.ts'
import { endedSession, principalAgain, unexpired } from './principals.ts'

/**
 * Runs `work` in one transaction of the store, for an actor. Between a request's headers and its transaction lie its
 * body, a hash and the queue of writers. So the transaction reads credential, user, role, second factor and limits of
 * a key again, and checks the rights that the route requires again. The operator, the panel and strangers have no
 * credential, and nothing to prove.
 *
 * @param work receives the actor as it is now, and must not decide on anything read earlier
 * @throws AppError what the guard throws, and whatever `work` throws
 */
export type WriteAs = <A extends Actor, T>(actor: A, work: (tx: Queries, actor: A) => Promise<T>) => Promise<T>

/** Reads for a caller whose credential and rights are checked again, as `WriteAs` does. @throws AppError as it does */
export type ReadAs = <T>(caller: Caller, work: (queries: Queries, caller: Caller) => Promise<T>) => Promise<T>

export type WriteAsOptions = {
  store: Store
  clock: Clock
  /** Whether users of this role must have two-factor authentication enabled, as the transaction sees it. */
  isTwoFactorRequired(tx: Queries, role: Role): Promise<boolean>
}

export function createWriteAs({ store, clock, isTwoFactorRequired }: WriteAsOptions) {
  /** @throws AppError `not_authenticated`, and what `authorize` throws */
  async function requireCaller(tx: Queries, { userId, credential, origin, rights }: Caller): Promise<Principal> {
    const found = await principalAgain(tx, credential, (role) => isTwoFactorRequired(tx, role))
    if (found instanceof Rejection) throw new Rejected(found)
    if (found.userId !== userId) throw new Rejected(endedSession)
    const principal = unexpired(found, clock.now())
    if (principal instanceof Rejection) throw new Rejected(principal)
    authorize(principal, origin.address, rights)
    return principal
  }

  function proven<A extends Actor, T>(actor: A, work: (tx: Queries, actor: A) => Promise<T>) {
    return async (tx: Queries) => {
      const asOfNow = actor.kind === 'user' ? { ...actor, ...(await requireCaller(tx, actor)) } : actor
      return work(tx, asOfNow)
    }
  }

  const writeAs: WriteAs = (actor, work) => store.write(proven(actor, work))
  /** Uses `store.writeSoon`: for attempt counts. */
  const writeSoonAs: WriteAs = (actor, work) => store.writeSoon(proven(actor, work))
  const readAs: ReadAs = (caller, work) => proven(caller, work)(store.read)
  return { writeAs, writeSoonAs, readAs }
}
