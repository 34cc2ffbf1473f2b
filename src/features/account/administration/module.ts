/** Administration of accounts: other users' sessions and API keys, and a way back in for a user who is locked out. */
import type { Module } from '../../../module.ts'
import type { Platform } from '../../../platform.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { ApiKeys } from '../api-keys/api-keys.ts'
import type { WriteAs } from '../credentials/write-as.ts'
import type { EmailChange } from '../email/email-change.ts'
import type { Notify } from '../notices.ts'
import type { WithBothFactors } from '../proof/both-factors.ts'
import type { Throttle } from '../proof/throttle.ts'
import type { Sessions } from '../session/sessions.ts'
import type { TwoFactor } from '../two-factor/two-factor.ts'
import type { Users } from '../users/users.ts'
import { createAdministration } from './administration.ts'
import { adminApiKeyRoutes } from './api-key-routes.ts'
import { administrationRoutes } from './routes.ts'
import { adminSessionRoutes } from './session-routes.ts'

export type AdministrationNeeds = Platform & {
  audit: RecordAudit
  writeAs: WriteAs
  notify: Notify
  throttle: Throttle
  withBothFactors: WithBothFactors
  sessions: Sessions
  users: Users
  emailChange: EmailChange
  twoFactor: TwoFactor
  apiKeys: ApiKeys
}

export function administrationModule(needs: AdministrationNeeds) {
  const { store, audit, writeAs, notify, throttle, withBothFactors } = needs
  const { sessions, users, emailChange, twoFactor, apiKeys } = needs
  const administration = createAdministration({
    store,
    audit,
    writeAs,
    notify,
    withBothFactors,
    emailChange,
    twoFactor,
    requireManageable: users.requireManageable,
  })
  return {
    services: { administration },
    routes: ({ guard }) => [
      adminSessionRoutes({ guard, sessions, getUser: users.get }),
      adminApiKeyRoutes({ guard, apiKeys, getUser: users.get }),
      administrationRoutes({ guard, administration, throttle, getUser: users.get }),
    ],
  } satisfies Module
}
