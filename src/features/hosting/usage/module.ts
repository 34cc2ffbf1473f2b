/** Usage: requests to sites, by the hour. */
import { nextTurn } from '../../../core/next-turn.ts'
import type { Module } from '../../../module.ts'
import type { Platform } from '../../../platform.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'
import { createSiteAccess } from '../site-access.ts'
import type { SubscriptionScope } from '../subscriptions/scope.ts'
import { usageRoutes } from './routes.ts'
import { createUsage } from './usage.ts'

export type UsageNeeds = Platform & { writeAs: WriteAs; subscriptionScope: SubscriptionScope }

const HOUR_MS = 60 * 60 * 1000

export function usageModule({ store, clock, deletableBefore, storageLog, writeAs, subscriptionScope }: UsageNeeds) {
  const usage = createUsage({ store, clock, writeAs, siteAccess: createSiteAccess(subscriptionScope) })

  async function pruneAll(stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted && (await usage.prune(deletableBefore())) > 0) await nextTurn()
  }

  return {
    services: {
      /** For what nodes report. */
      takeUsage: usage.take,
    },
    routes: ({ guard }) => [usageRoutes({ guard, usage, clock })],
    tasks: [{ everyMs: HOUR_MS, run: pruneAll, log: storageLog, failure: 'old counts of requests not deleted' }],
  } satisfies Module
}
