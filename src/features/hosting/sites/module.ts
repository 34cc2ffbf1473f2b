/** Sites: the domains that a subscription serves. */
import type { Module } from '../../../module.ts'
import type { NodeId } from '../../../node/desired-states.ts'
import type { Platform } from '../../../platform.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { SubscriptionScope } from '../subscriptions/scope.ts'
import { readDesired } from './desired.ts'
import { createTakeReport } from './observed.ts'
import { siteRoutes } from './routes.ts'
import { createServing } from './serving.ts'
import { createSites } from './sites.ts'

export type SitesNeeds = Platform & { audit: RecordAudit; writeAs: WriteAs; subscriptionScope: SubscriptionScope }

export function sitesModule(needs: SitesNeeds) {
  const { config, store, clock, pages, audit, writeAs, subscriptionScope } = needs
  const serving = createServing(config)
  const sites = createSites({
    store,
    clock,
    audit,
    writeAs,
    scope: subscriptionScope,
    serving,
  })
  return {
    services: {
      sites,
      serving,
      /** For nodes: what they are to do, and what they observed. */
      readDesired: (nodeId: NodeId, revision: number) => readDesired(store, nodeId, revision),
      takeReport: createTakeReport({ writeAs, clock }),
    },
    routes: ({ guard, answerOnce }) => [siteRoutes({ guard, sites, serving, pages, answerOnce })],
  } satisfies Module
}
