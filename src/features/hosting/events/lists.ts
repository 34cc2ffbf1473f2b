/** Lists the events that a caller may see. */
import type { Caller } from '../../../core/actor.ts'
import type { PageRequest } from '../../../core/page.ts'
import type { ReadStore } from '../../../db/store.ts'
import { createSiteAccess, type SiteRef } from '../site-access.ts'
import type { SubscriptionScope } from '../subscriptions/scope.ts'
import { listEvents, topicFor } from './events.ts'

export type EventLists = ReturnType<typeof createEventLists>

export function createEventLists({ store, scope }: { store: ReadStore; scope: SubscriptionScope }) {
  const siteAccess = createSiteAccess(scope)
  return {
    /**
     * @param named a subscription; undefined for the default one, and for all of them to an administrator
     * @throws AppError `not_found`, `forbidden`
     */
    async ofSubscription(caller: Caller, named: number | undefined, page: PageRequest) {
      const subscription = await scope.resolve(store.read, caller, named)
      return listEvents(store, topicFor(caller, subscription?.id), page)
    },

    /** @throws AppError `not_found`, `forbidden` for another customer's site */
    async ofSite(caller: Caller, ref: SiteRef, page: PageRequest) {
      const { site } = await siteAccess.find(store.read, caller, ref)
      return listEvents(store, { siteIds: new Set([site.id]) }, page)
    },
  }
}
