/** The schemas of login and `/auth/sessions`. */
import { t } from 'elysia'
import { formatTimestamp } from '../../../core/timestamp.ts'
import { closed, emailAddress, idOut, timestampOut } from '../../../http/schema.ts'
import { codeWhenEnrolled, password, UserModel } from '../model.ts'
import type { Session } from './sessions.ts'

export const LoginRequest = closed({
  email: emailAddress(),
  password: password(),
  totp_code: codeWhenEnrolled(),
})

export const LoginModel = t.Object(
  { token: t.String({ examples: ['eyJhbGciOiJIUzI1NiJ9.e30.c2ln'], description: 'A JWT' }), user: UserModel },
  { additionalProperties: false, title: 'Login' },
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

/** @param currentId the calling session, if it belongs to the same user */
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
