/** Passwords: changed by their user, or set with an emailed token. */
import type { Module } from '../../../module.ts'
import type { Platform } from '../../../platform.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { Incidents } from '../../operation/audit/incidents.ts'
import type { WriteAs } from '../credentials/write-as.ts'
import type { Notify } from '../notices.ts'
import type { ConfirmPassword } from '../proof/confirm-password.ts'
import type { SecondFactor } from '../proof/second-factor.ts'
import type { Throttle } from '../proof/throttle.ts'
import type { Sessions } from '../session/sessions.ts'
import type { InitialAdmin } from '../users/initial-admin.ts'
import { createPasswordService } from './password.ts'
import { createPasswordReset } from './password-reset.ts'
import { passwordRoutes } from './routes.ts'

export type PasswordNeeds = Platform & {
  audit: RecordAudit
  incidents: Incidents
  writeAs: WriteAs
  notify: Notify
  throttle: Throttle
  secondFactor: SecondFactor
  confirmPassword: ConfirmPassword
  sessions: Sessions
  initialAdmin: InitialAdmin
}

export function passwordModule(needs: PasswordNeeds) {
  const { config, store, clock, deletableBefore, storageLog: log, passwords, outbox, findWording } = needs
  const { audit, incidents, writeAs, notify, throttle, secondFactor, confirmPassword, sessions, initialAdmin } = needs
  const password = createPasswordService({
    store,
    clock,
    passwords,
    audit,
    incidents,
    writeAs,
    notify,
    throttle,
    secondFactor,
    confirmPassword,
    endSessions: sessions.endWithin,
    onChange: initialAdmin.forget,
  })
  const passwordReset = createPasswordReset({
    clock,
    deletableBefore,
    log,
    audit,
    incidents,
    writeAs,
    putMail: outbox.put,
    findWording,
    // Without a mail server there may be no public URL, but then there is no email either.
    publicUrl: config.publicUrl ?? '',
  })
  return {
    services: { password, passwordReset },
    routes: ({ guard }) => [passwordRoutes({ guard, password, passwordReset })],
    tasks: [{ everyMs: 1000, run: passwordReset.flush, log, failure: 'password resets not written' }],
    close: passwordReset.flush,
  } satisfies Module
}
