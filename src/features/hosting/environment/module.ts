/** Environment variables of sites. */
import type { Module } from '../../../module.ts'
import type { Platform } from '../../../platform.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import { createSiteAccess } from '../site-access.ts'
import type { ChangeEnvironment } from '../sites/change-environment.ts'
import type { SubscriptionScope } from '../subscriptions/scope.ts'
import { createEnvironment } from './environment.ts'
import { environmentRoutes } from './routes.ts'

export type EnvironmentNeeds = Platform & {
  audit: RecordAudit
  writeAs: WriteAs
  subscriptionScope: SubscriptionScope
  changeEnvironment: ChangeEnvironment
}

export function environmentModule(needs: EnvironmentNeeds) {
  const { store, clock, secretBox, audit, writeAs, subscriptionScope, changeEnvironment } = needs
  const siteAccess = createSiteAccess(subscriptionScope)
  const environment = createEnvironment({ store, clock, audit, writeAs, siteAccess, secretBox, changeEnvironment })
  return {
    services: {},
    routes: ({ guard }) => [environmentRoutes({ guard, environment })],
  } satisfies Module
}
