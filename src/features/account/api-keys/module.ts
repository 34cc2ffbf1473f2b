/** API keys: credentials for scripts, and the emails about keys that expire. */
import type { Module } from '../../../module.ts'
import type { Platform } from '../../../platform.ts'
import { isSelfRotationAllowed, readSettings } from '../../../settings/stored.ts'
import type { SubscriptionScope } from '../../hosting/subscriptions/scope.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { Usage } from '../credentials/usage.ts'
import type { WriteAs } from '../credentials/write-as.ts'
import type { Notify } from '../notices.ts'
import type { SecondFactor } from '../proof/second-factor.ts'
import type { Users } from '../users/users.ts'
import { createApiKeys } from './api-keys.ts'
import { createExpiryNotices } from './expiry-notices.ts'
import { apiKeyRoutes } from './routes.ts'
import { createRotateSelf } from './self-rotation.ts'

export type ApiKeysNeeds = Platform & {
  audit: RecordAudit
  usage: Usage
  writeAs: WriteAs
  notify: Notify
  secondFactor: SecondFactor
  users: Users
  subscriptionScope: SubscriptionScope
}

export function apiKeysModule(needs: ApiKeysNeeds) {
  const { store, clock, log, audit, usage, writeAs, notify, secondFactor, users, subscriptionScope } = needs
  const apiKeys = createApiKeys({
    store,
    clock,
    audit,
    writeAs,
    notify,
    flushUsage: usage.settle,
    withFreshCode: secondFactor.withFreshCode,
    subscriptionFor: subscriptionScope.forKey,
    requireManageable: users.requireManageable,
    maxKeys: async (tx) => (await readSettings(tx)).maxApiKeys,
    isSelfRotationAllowed,
  })
  const rotateSelf = createRotateSelf({ clock, audit, writeAs, notify, isAllowed: isSelfRotationAllowed })
  const expiryNotices = createExpiryNotices({ store, clock, notify })
  return {
    services: { apiKeys, rotateSelf, expiryNotices },
    routes: ({ guard, answerOnce }) => [apiKeyRoutes({ guard, apiKeys, rotateSelf, answerOnce })],
    tasks: [
      {
        everyMs: 10 * 60 * 1000,
        run: expiryNotices.send,
        log,
        failure: 'users not notified of expiring API keys',
      },
    ],
  } satisfies Module
}
