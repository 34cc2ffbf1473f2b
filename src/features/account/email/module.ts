/** The email address of an account, and how it changes. */
import type { Module } from '../../../module.ts'
import type { Platform } from '../../../platform.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { Incidents } from '../../operation/audit/incidents.ts'
import type { WriteAs } from '../credentials/write-as.ts'
import type { Notify } from '../notices.ts'
import type { ConfirmPassword } from '../proof/confirm-password.ts'
import type { SecondFactor } from '../proof/second-factor.ts'
import { createEmailChange } from './email-change.ts'
import { emailRoutes } from './routes.ts'

export type EmailNeeds = Platform & {
  audit: RecordAudit
  incidents: Incidents
  writeAs: WriteAs
  notify: Notify
  secondFactor: SecondFactor
  confirmPassword: ConfirmPassword
}

export function emailModule(needs: EmailNeeds) {
  const { config, store, clock, outbox, sendsMail, findWording } = needs
  const { audit, incidents, writeAs, notify, secondFactor, confirmPassword } = needs
  const emailChange = createEmailChange({
    store,
    clock,
    audit,
    incidents,
    writeAs,
    notify,
    secondFactor,
    confirmPassword,
    putMail: outbox.put,
    withdrawMail: outbox.withdraw,
    findWording,
    publicUrl: sendsMail ? config.publicUrl : undefined,
  })
  return {
    services: { emailChange },
    routes: ({ guard }) => [emailRoutes({ guard, emailChange })],
  } satisfies Module
}
