/** Wires what proves who a user is and what changes that, in the order in which the services need each other. */
import type { Clock } from '../../core/clock.ts'
import type { Role } from '../../core/principal.ts'
import type { Passwords } from '../../crypto/passwords.ts'
import type { SecretBox } from '../../crypto/secret-box.ts'
import type { Queries, Store } from '../../db/store.ts'
import type { Log } from '../../log/log.ts'
import type { Outbox } from '../../mail/outbox.ts'
import type { FindWording } from '../../mail/wording.ts'
import type { RecordAudit } from '../operation/audit/audit.ts'
import type { Incidents } from '../operation/audit/incidents.ts'
import type { Settings } from '../operation/settings/settings.ts'
import { createAdministration } from './administration/administration.ts'
import type { WriteAs } from './credentials/write-as.ts'
import { createEmailChange } from './email/email-change.ts'
import type { Notify } from './notices.ts'
import { createPasswordService } from './password/password.ts'
import { createPasswordReset } from './password/password-reset.ts'
import { createWithBothFactors } from './proof/both-factors.ts'
import { createSecondFactor } from './proof/second-factor.ts'
import { createThrottle } from './proof/throttle.ts'
import { createLogin } from './session/login.ts'
import { createTwoFactor } from './two-factor/two-factor.ts'
import type { RequireManageable } from './users/users.ts'

export type AuthServicesOptions = {
  store: Store
  clock: Clock
  /** What expired before may be deleted for good. */
  deletableBefore(): number
  log: Log
  audit: RecordAudit
  writeAs: WriteAs
  writeSoonAs: WriteAs
  incidents: Incidents
  passwords: Passwords
  secretBox: SecretBox
  settings: Settings
  /** Whether users of this role must have two-factor authentication on. */
  isTwoFactorRequired(queries: Queries, role: Role): Promise<boolean>
  /** Whether a fresh code is asked for, where the contract asks for a JWT alone. */
  isCodeRequired(queries: Queries): Promise<boolean>
  notify: Notify
  outbox: Outbox
  findWording: FindWording
  /** What authenticator apps show beside the account. */
  panelName(): Promise<string>
  /** Whether a mail server is configured. */
  sendsMail: boolean
  /** The configured base of links, without a slash at its end. */
  publicUrl: string | undefined
  /** Told after a user's password has changed. */
  onPasswordChange(userId: number): Promise<void>
  requireManageable: RequireManageable
}

export function createAuthServices(options: AuthServicesOptions) {
  const {
    store,
    clock,
    deletableBefore,
    log,
    audit,
    writeAs,
    writeSoonAs,
    incidents,
    passwords,
    secretBox,
    settings,
    notify,
    outbox,
  } = options
  const { findWording, panelName } = options
  const essentials = { store, clock, audit, writeAs, incidents, notify }
  const putMail = outbox.put

  const throttle = createThrottle({ ...essentials, writeSoonAs, deletableBefore, log })
  const secondFactor = createSecondFactor({
    ...essentials,
    secretBox,
    throttle,
    isCodeRequired: options.isCodeRequired,
  })
  const password = createPasswordService({
    ...essentials,
    passwords,
    throttle,
    secondFactor,
    onChange: options.onPasswordChange,
  })
  const confirmed = { ...essentials, secondFactor, confirmPassword: password.confirm }
  const twoFactor = createTwoFactor({ ...confirmed, throttle, panelName, isRequired: options.isTwoFactorRequired })
  const emailChange = createEmailChange({
    ...confirmed,
    putMail,
    findWording,
    withdrawMail: outbox.withdraw,
    publicUrl: options.sendsMail ? options.publicUrl : undefined,
  })
  return {
    throttle,
    secondFactor,
    password,
    twoFactor,
    emailChange,
    administration: createAdministration({
      ...essentials,
      withBothFactors: createWithBothFactors(confirmed),
      emailChange,
      twoFactor,
      requireManageable: options.requireManageable,
    }),
    login: createLogin({
      ...essentials,
      deletableBefore,
      passwords,
      throttle,
      ttlSeconds: async () => (await settings.read()).jwtTtlSeconds,
      spendCode: secondFactor.spend,
    }),
    // There may be no public URL where there is no mail server, and then no mail either.
    passwordReset: createPasswordReset({
      ...essentials,
      deletableBefore,
      log,
      putMail,
      findWording,
      publicUrl: options.publicUrl ?? '',
    }),
  }
}
