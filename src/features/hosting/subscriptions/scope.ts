/** Decides which subscription a request means and what the caller may see of it, for everything that belongs to one. */
import { and, eq, inArray } from 'drizzle-orm'
import type { Caller } from '../../../core/actor.ts'
import { AppError } from '../../../core/errors.ts'
import { boundSitesOf, boundSubscriptionOf } from '../../../core/principal.ts'
import { given, prepare } from '../../../db/statements.ts'
import type { Queries } from '../../../db/store.ts'
import { sites, subscriptions } from '../../../db/tables.ts'

export type Subscription = typeof subscriptions.$inferSelect

/** Passed to the features whose resources belong to a subscription. */
export type SubscriptionScope = typeof subscriptionScope

/** Something in a subscription, with the name that a refusal gives it. */
export type Resource = { name: 'site'; siteId: number; subscriptionId: number; ownerId: number }

// Prepared: nearly every customer request starts with it.
const defaultOfUser = prepare((queries) =>
  queries
    .select()
    .from(subscriptions)
    .where(and(eq(subscriptions.userId, given('userId')), eq(subscriptions.isDefault, true))),
)

/** @throws AppError `not_found` */
async function find(queries: Queries, id: number): Promise<Subscription> {
  const [subscription] = await queries.select().from(subscriptions).where(eq(subscriptions.id, id))
  if (!subscription) throw new AppError('not_found', 'No such subscription')
  return subscription
}

/** @throws AppError `not_found`, `forbidden` for another customer's or one outside the key's subscription */
async function findOwn(queries: Queries, caller: Caller, id: number): Promise<Subscription> {
  const subscription = await find(queries, id)
  const bound = boundSubscriptionOf(caller)
  if (bound !== undefined && id !== bound) {
    throw new AppError('forbidden', `This API key is bound to subscription ${bound}`)
  }
  if (caller.role !== 'admin' && subscription.userId !== caller.userId) {
    throw new AppError('forbidden', 'This subscription belongs to another customer')
  }
  return subscription
}

/**
 * The contract's subscription context: the one that the request names, else the one the API key is bound to, else the
 * customer's default.
 *
 * @returns undefined, meaning all, for an administrator who names none
 * @throws AppError `not_found`, also for a customer without any; `forbidden`
 */
async function resolve(queries: Queries, caller: Caller, named: number | undefined): Promise<Subscription | undefined> {
  const id = named ?? boundSubscriptionOf(caller)
  if (id !== undefined) return findOwn(queries, caller, id)
  if (caller.role === 'admin') return undefined
  const subscription = await defaultOfUser.first(queries, { userId: caller.userId })
  if (!subscription) throw new AppError('not_found', 'You have no subscription; ask your provider for one')
  return subscription
}

/**
 * @param named the subscription that the request names: anything in another one is then not found
 * @throws AppError `forbidden` for another customer's resource or one outside the key's subscription or sites; `not_found`
 */
async function requireVisible(
  queries: Queries,
  caller: Caller,
  { name, siteId, subscriptionId, ownerId }: Resource,
  named: number | undefined,
): Promise<void> {
  if (caller.role !== 'admin' && ownerId !== caller.userId) {
    throw new AppError('forbidden', `This ${name} belongs to another customer`)
  }
  const bound = boundSubscriptionOf(caller)
  if (bound !== undefined && subscriptionId !== bound) {
    throw new AppError('forbidden', `This ${name} is not in subscription ${bound}, which this API key is bound to`)
  }
  if (boundSitesOf(caller)?.has(siteId) === false) {
    throw new AppError('forbidden', `This ${name} is not one of those that this API key is bound to`)
  }
  if (named !== undefined && (await findOwn(queries, caller, named)).id !== subscriptionId) {
    throw new AppError('not_found', `No such ${name} in this subscription`)
  }
}

/**
 * The subscription that a new key is bound to: the one that is named, or the one that all its sites are in.
 *
 * @returns undefined for a key that sees all of its user
 * @throws AppError `not_found`, `forbidden` for what is another customer's, `validation_error` for sites of several or of
 * another than the named one
 */
async function forKey(
  queries: Queries,
  caller: Caller,
  { subscriptionId, sites: siteIds }: { subscriptionId?: number | undefined; sites?: readonly number[] | undefined },
): Promise<number | undefined> {
  if (subscriptionId !== undefined) await findOwn(queries, caller, subscriptionId)
  if (siteIds === undefined) return subscriptionId
  const found = await queries
    .select({ siteId: sites.id, subscriptionId: sites.subscriptionId, ownerId: subscriptions.userId })
    .from(sites)
    .innerJoin(subscriptions, eq(subscriptions.id, sites.subscriptionId))
    .where(inArray(sites.id, [...siteIds]))
  const missing = siteIds.find((id) => !found.some(({ siteId }) => siteId === id))
  if (missing !== undefined) throw new AppError('not_found', `No such site: ${missing}`)
  for (const site of found) await requireVisible(queries, caller, { name: 'site', ...site }, undefined)
  const expected = subscriptionId ?? found[0]?.subscriptionId
  if (found.some((site) => site.subscriptionId !== expected)) {
    throw new AppError(
      'validation_error',
      `sites: must all be in ${subscriptionId === undefined ? 'one subscription' : `subscription ${subscriptionId}`}`,
    )
  }
  return expected
}

export const subscriptionScope = { find, findOwn, resolve, requireVisible, forKey }
