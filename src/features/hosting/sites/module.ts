/** Sites: the domains that a subscription serves. */
import type { Module } from '../../../module.ts'
import type { Platform } from '../../../platform.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { SubscriptionScope } from '../subscriptions/scope.ts'
import { siteRoutes } from './routes.ts'
import { createSites } from './sites.ts'

export type SitesNeeds = Platform & { audit: RecordAudit; writeAs: WriteAs; subscriptionScope: SubscriptionScope }

export function sitesModule({ store, clock, pages, audit, writeAs, subscriptionScope }: SitesNeeds) {
  const sites = createSites({
    store,
    clock,
    audit,
    writeAs,
    scope: subscriptionScope,
  })
  return {
    services: { sites },
    routes: ({ guard, answerOnce }) => [siteRoutes({ guard, sites, pages, answerOnce })],
  } satisfies Module
}
