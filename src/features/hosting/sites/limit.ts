/** Whether a subscription may get another site: it is active, and its limit is not reached. */
import { and, asc, eq, gt } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { nextTurn } from '../../../core/next-turn.ts'
import type { Queries } from '../../../db/store.ts'
import { sites } from '../../../db/tables.ts'
import type { Subscription } from '../subscriptions/scope.ts'

/** Sites that one statement counts. */
const COUNT_STEP = 20_000

/** @throws AppError `conflict` */
export function requireActive({ status }: Subscription): void {
  if (status !== 'active') throw new AppError('conflict', 'The subscription is suspended')
}

/** In the transaction that adds the site, so that parallel requests cannot pass the limit together. */
export async function requireRoom(tx: Queries, subscription: Subscription): Promise<void> {
  requireActive(subscription)
  const { id, maxSites } = subscription
  if (maxSites === 0 || !(await hasAsMany(tx, id, maxSites))) return
  throw new AppError('conflict', `The subscription's limit of ${maxSites} sites is reached`)
}

/** Counts in steps, so that a subscription with a million sites holds up only writers. */
async function hasAsMany(tx: Queries, subscriptionId: number, count: number): Promise<boolean> {
  let last = 0
  for (let missing = count; missing > 0; missing -= COUNT_STEP) {
    const [site] = await tx
      .select({ id: sites.id })
      .from(sites)
      .where(and(eq(sites.subscriptionId, subscriptionId), gt(sites.id, last)))
      .orderBy(asc(sites.id))
      .limit(1)
      .offset(Math.min(missing, COUNT_STEP) - 1)
    if (!site) return false
    last = site.id
    if (missing > COUNT_STEP) await nextTurn()
  }
  return true
}
