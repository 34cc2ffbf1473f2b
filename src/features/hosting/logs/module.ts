/** Logs: what visitors asked of a site, and what went wrong. */
import type { Module } from '../../../module.ts'
import { createLogRequests } from '../../../node/log-requests.ts'
import type { Platform } from '../../../platform.ts'
import { createSiteAccess } from '../site-access.ts'
import type { SubscriptionScope } from '../subscriptions/scope.ts'
import { createLogs } from './logs.ts'
import { logRoutes } from './routes.ts'

export type LogsNeeds = Platform & { subscriptionScope: SubscriptionScope }

export function logsModule({ store, subscriptionScope }: LogsNeeds) {
  const logRequests = createLogRequests()
  const logs = createLogs({ store, siteAccess: createSiteAccess(subscriptionScope), logRequests })
  return {
    services: {
      /** For nodes, which read the logs that are on them. */
      logRequests,
    },
    routes: ({ guard }) => [logRoutes({ guard, logs })],
  } satisfies Module
}
