/** Subscriptions: what sites belong to, and how many sites a customer may have. */
import type { Module } from '../../../module.ts'
import type { Platform } from '../../../platform.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'
import type { Notify } from '../../account/notices.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { Placement } from '../../operation/nodes/placement.ts'
import { adminSubscriptionRoutes, subscriptionRoutes } from './routes.ts'
import { subscriptionScope } from './scope.ts'
import { createSubscriptions } from './subscriptions.ts'

export type SubscriptionsNeeds = Platform & {
  audit: RecordAudit
  writeAs: WriteAs
  notify: Notify
  placement: Placement
}

export function subscriptionsModule({ store, clock, audit, writeAs, notify, placement }: SubscriptionsNeeds) {
  const subscriptions = createSubscriptions({ store, clock, audit, writeAs, notify, placement })
  return {
    services: { subscriptions, subscriptionScope },
    routes: ({ guard, answerOnce }) => [
      subscriptionRoutes({ guard, subscriptions }),
      adminSubscriptionRoutes({ guard, subscriptions, answerOnce }),
    ],
  } satisfies Module
}
