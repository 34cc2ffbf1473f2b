/** Two-factor authentication: enrolment, recovery codes, and disabling it. */
import type { Module } from '../../../module.ts'
import type { Platform } from '../../../platform.ts'
import { isTwoFactorRequired } from '../../../settings/stored.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { Incidents } from '../../operation/audit/incidents.ts'
import type { WriteAs } from '../credentials/write-as.ts'
import type { Notify } from '../notices.ts'
import type { ConfirmPassword } from '../proof/confirm-password.ts'
import type { SecondFactor } from '../proof/second-factor.ts'
import type { Throttle } from '../proof/throttle.ts'
import type { Sessions } from '../session/sessions.ts'
import { twoFactorRoutes } from './routes.ts'
import { createTwoFactor } from './two-factor.ts'

export type TwoFactorNeeds = Platform & {
  audit: RecordAudit
  incidents: Incidents
  writeAs: WriteAs
  notify: Notify
  throttle: Throttle
  secondFactor: SecondFactor
  confirmPassword: ConfirmPassword
  sessions: Sessions
}

export function twoFactorModule(needs: TwoFactorNeeds) {
  const { store, clock, panelName } = needs
  const { audit, incidents, writeAs, notify, throttle, secondFactor, confirmPassword, sessions } = needs
  const twoFactor = createTwoFactor({
    store,
    clock,
    panelName,
    audit,
    incidents,
    writeAs,
    notify,
    throttle,
    secondFactor,
    confirmPassword,
    endSessions: sessions.endWithin,
    isRequired: isTwoFactorRequired,
  })
  return {
    services: { twoFactor },
    routes: ({ guard }) => [twoFactorRoutes({ guard, twoFactor })],
  } satisfies Module
}
