/** What `/auth` takes and gives. */
import { t } from 'elysia'
import type { Credential } from '../../core/principal.ts'
import { SCOPES, type Scope } from '../../core/scope.ts'
import { formatTimestamp } from '../../core/timestamp.ts'
import { PASSWORD_LENGTH } from '../../crypto/password-rules.ts'
import type { users } from '../../db/tables.ts'
import {
  choice,
  closed,
  emailAddress,
  idOut,
  integerOut,
  nullable,
  text,
  timestampOut,
  totpCode,
} from '../../http/schema.ts'
import type { ApiKey } from './api-keys/api-keys.ts'
import type { ThrottleState } from './proof/throttle.ts'
import type { Session } from './session/sessions.ts'

/** Its length is checked before anything is looked up or hashed; the rules for new passwords are the service's. */
const password = () =>
  text({ maxLength: PASSWORD_LENGTH.maximum, format: 'password', examples: ['correct horse battery staple'] })
const newPassword = () =>
  text({
    minLength: PASSWORD_LENGTH.minimum,
    maxLength: PASSWORD_LENGTH.maximum,
    format: 'password',
    examples: ['seven grey kettles on a windy roof'],
  })
/** For what a user with two-factor authentication on proves with both factors. */
const codeWhenEnrolled = () => t.Optional({ ...totpCode(), description: 'Required with two-factor authentication on' })
const mailedToken = () =>
  text({ maxLength: 128, examples: ['Zm9vYmFy…'], description: 'From the email or the activation' })

export const LoginRequest = closed({
  email: emailAddress(),
  password: password(),
  totp_code: codeWhenEnrolled(),
})
export const PasswordChange = closed({
  current_password: password(),
  new_password: newPassword(),
  totp_code: codeWhenEnrolled(),
})
export const EmailChange = closed({ email: emailAddress(), password: password(), totp_code: codeWhenEnrolled() })
/** An administrator's own factors, for what is done to the account of somebody else. */
export const OwnFactors = closed({ password: password(), totp_code: codeWhenEnrolled() })
export const UserEmailChange = closed({ email: emailAddress(), password: password(), totp_code: codeWhenEnrolled() })
export const EmailConfirm = closed({ token: mailedToken() })
export const PasswordResetRequest = closed({ email: emailAddress() })
export const PasswordConfirm = closed({
  token: mailedToken(),
  password: newPassword(),
})
export const TwoFactorSetup = closed({ password: password() })
export const TwoFactorEnable = closed({ totp_code: totpCode() })
export const TwoFactorProof = closed({ password: password(), totp_code: totpCode() })

export const UserModel = t.Object(
  { id: idOut(), email: emailAddress(), name: t.String({ examples: ['Ada'] }), role: choice(['admin', 'customer']) },
  { additionalProperties: false, title: 'User' },
)
export const LoginModel = t.Object(
  { token: t.String({ examples: ['eyJhbGciOiJIUzI1NiJ9.e30.c2ln'], description: 'A JWT' }), user: UserModel },
  { additionalProperties: false, title: 'Login' },
)
export const MeModel = t.Object(
  {
    user: UserModel,
    credential: t.Object(
      {
        kind: choice(['jwt', 'api_key']),
        id: idOut(),
        name: nullable(t.String({ examples: ['Deploy script'], description: 'Of an API key' })),
        scopes: nullable(t.Array(choice(SCOPES), { description: 'Null: all that the user may do' })),
        allowed_cidrs: nullable(
          t.Array(t.String({ examples: ['203.0.113.0/24'] }), { description: 'Null: everywhere' }),
        ),
        subscription_id: nullable({ ...idOut(), description: 'Null: all subscriptions of the user' }),
        expires_at: nullable(timestampOut()),
        can_rotate: t.Boolean({
          description: 'Whether the current settings let it rotate itself at `POST /auth/api-keys/self/rotate`',
        }),
        renewable_until: nullable({ ...timestampOut(), description: 'When that right ends; null without it' }),
      },
      { additionalProperties: false },
    ),
    rate_limit: t.Object(
      {
        limit: integerOut({
          minimum: 1,
          examples: [120],
          description: 'Requests a minute, over all credentials of the user',
        }),
        remaining: integerOut({ minimum: 0, examples: [119] }),
        reset_at: timestampOut(),
      },
      { additionalProperties: false },
    ),
  },
  { additionalProperties: false, title: 'Me' },
)
export const SessionModel = t.Object(
  {
    id: idOut(),
    address: t.String({ examples: ['203.0.113.7'] }),
    user_agent: t.String({ examples: ['curl/8.10'] }),
    current: t.Boolean({ description: 'Whether it is the session of this request' }),
    created_at: timestampOut(),
    last_seen_at: timestampOut(),
    expires_at: timestampOut(),
  },
  { additionalProperties: false, title: 'Session' },
)
export const ThrottleModel = t.Object(
  {
    failed_attempts: integerOut({ minimum: 0, examples: [3], description: 'Attempts that still count' }),
    next_attempt_at: nullable({ ...timestampOut(), description: 'Null when one is possible now' }),
  },
  { additionalProperties: false, title: 'Throttle' },
)
export const TwoFactorSetupModel = t.Object(
  {
    secret: t.String({ examples: ['JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'], description: 'The seed, in base32' }),
    otpauth_uri: t.String({ examples: ['otpauth://totp/ncp:ada%40example.com?secret=JBSWY3DPEHPK3PXP&issuer=ncp'] }),
    qr_svg: t.String({ examples: ['<svg></svg>'], description: 'The URI as a QR code' }),
  },
  { additionalProperties: false, title: 'TwoFactorSetup' },
)
export const RecoveryCodesModel = t.Object(
  {
    recovery_codes: t.Array(t.String({ examples: ['7H2KD-0QXWB-93MTN-EZ5RC-4VGPA-J'] }), {
      description: 'Each works once, in place of a code; shown only once',
    }),
  },
  { additionalProperties: false, title: 'RecoveryCodes' },
)

export function toThrottle({ failedAttempts, nextAttemptAt }: ThrottleState) {
  return {
    failed_attempts: failedAttempts,
    next_attempt_at: nextAttemptAt === null ? null : formatTimestamp(nextAttemptAt),
  }
}

/** The contract's User. */
export function toUser({ id, email, name, role }: typeof users.$inferSelect) {
  return { id, email, name, role }
}

/** @param key what is stored of an API key; undefined for a JWT */
export function toCredential(credential: Credential, key: ApiKey | undefined) {
  return {
    kind: credential.kind,
    id: credential.kind === 'jwt' ? credential.sessionId : credential.keyId,
    name: key?.name ?? null,
    scopes: (key?.scopes ? JSON.parse(key.scopes) : null) as Scope[] | null,
    allowed_cidrs: (key?.allowedCidrs ? JSON.parse(key.allowedCidrs) : null) as string[] | null,
    subscription_id: key?.subscriptionId ?? null,
    expires_at: credential.expiresAt === null ? null : formatTimestamp(credential.expiresAt),
    can_rotate: credential.kind === 'api_key' && credential.renewableUntil !== undefined,
    renewable_until: key?.renewableUntil ? formatTimestamp(key.renewableUntil) : null,
  }
}

/** @param headers of the response, on which the gate has written what is left */
export function toRateLimit(headers: Headers) {
  const read = (name: string) => Number(headers.get(`x-ratelimit-${name}`))
  return {
    limit: read('limit'),
    remaining: read('remaining'),
    reset_at: formatTimestamp(read('reset') * 1000),
  }
}

/** @param currentId the session that asks, where it is one of the same user */
export function toSession(session: Session, currentId: number | undefined) {
  return {
    id: session.id,
    address: session.address,
    user_agent: session.userAgent,
    current: session.id === currentId,
    created_at: formatTimestamp(session.createdAt),
    last_seen_at: formatTimestamp(session.lastSeenAt),
    expires_at: formatTimestamp(session.expiresAt),
  }
}
