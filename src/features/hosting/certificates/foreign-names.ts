/** Whether a certificate is good for names of another customer's sites. */
import { and, eq, gt, lt, ne } from 'drizzle-orm'
import type { Actor } from '../../../core/actor.ts'
import { AppError } from '../../../core/errors.ts'
import type { Queries } from '../../../db/store.ts'
import { siteDomains, sites, subscriptions } from '../../../db/tables.ts'

/**
 * @param names in the certificate
 * @throws AppError `conflict`, except for the operator and administrators, who know what they do
 */
export async function requireNoForeignNames(tx: Queries, actor: Actor, ownerId: number, names: readonly string[]) {
  if (actor.kind !== 'user' || actor.role === 'admin') return
  for (const name of names) {
    const [found] = await tx
      .select({ domain: siteDomains.domain })
      .from(siteDomains)
      .innerJoin(sites, eq(sites.id, siteDomains.siteId))
      .innerJoin(subscriptions, eq(subscriptions.id, sites.subscriptionId))
      .where(and(isWithin(name), ne(subscriptions.userId, ownerId)))
      .limit(1)
    if (found) {
      throw new AppError('conflict', `certificate: ${name} is good for a site of another customer; ask your provider`)
    }
  }
}

/** A name, or for a wildcard all names below its zone. */
function isWithin(name: string) {
  if (!name.startsWith('*.')) return eq(siteDomains.domain, name)
  const zone = `${name.slice(2).split('.').toReversed().join('.')}.`
  // A slash follows the dot: up to it lie all names that go on after the zone.
  return and(gt(siteDomains.reversed, zone), lt(siteDomains.reversed, `${zone.slice(0, -1)}/`))
}
