/** Finds the site that a request is about, if its caller may see it. */
import { eq } from 'drizzle-orm'
import type { Caller } from '../../core/actor.ts'
import { AppError } from '../../core/errors.ts'
import type { Queries } from '../../db/store.ts'
import { sites, subscriptions } from '../../db/tables.ts'
import type { Subscription, SubscriptionScope } from './subscriptions/scope.ts'

/** A site, and the subscription it must be in if the request names one. */
export type SiteRef = { id: number; subscriptionId: number | undefined }

export type SiteRow = typeof sites.$inferSelect

export type FoundSite = { site: SiteRow; subscription: Subscription }

export type SiteAccess = ReturnType<typeof createSiteAccess>

export function createSiteAccess(scope: SubscriptionScope) {
  /**
   * @param found undefined if there is no such site
   * @throws AppError `not_found`, `forbidden` for another customer's site or one outside the key's subscription or sites
   */
  async function requireVisible<Site extends { site: Pick<SiteRow, 'id'>; subscription: Subscription }>(
    queries: Queries,
    caller: Caller,
    { subscriptionId }: SiteRef,
    found: Site | undefined,
  ): Promise<Site> {
    if (!found) throw new AppError('not_found', 'No such site')
    const { id, userId } = found.subscription
    const resource = { name: 'site', siteId: found.site.id, subscriptionId: id, ownerId: userId } as const
    await scope.requireVisible(queries, caller, resource, subscriptionId)
    return found
  }

  return {
    /** For what was read with something else in one statement. */
    requireVisible,

    /** @throws AppError `not_found`, `forbidden` */
    find: async (queries: Queries, caller: Caller, ref: SiteRef): Promise<FoundSite> =>
      requireVisible(queries, caller, ref, await read(queries, ref.id)),

    /** For the command line. @throws AppError `not_found` */
    async get(queries: Queries, id: number): Promise<FoundSite> {
      const found = await read(queries, id)
      if (!found) throw new AppError('not_found', 'No such site')
      return found
    },
  }
}

async function read(queries: Queries, id: number): Promise<FoundSite | undefined> {
  const [row] = await queries
    .select({ site: sites, subscription: subscriptions })
    .from(sites)
    .innerJoin(subscriptions, eq(subscriptions.id, sites.subscriptionId))
    .where(eq(sites.id, id))
  return row
}
