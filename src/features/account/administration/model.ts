/** The schemas of what administrators do with another user's account. */
import { t } from 'elysia'
import { formatTimestamp } from '../../../core/timestamp.ts'
import { closed, emailAddress, integerOut, nullable, timestampOut } from '../../../http/schema.ts'
import { codeWhenEnrolled, password } from '../model.ts'
import type { ThrottleState } from '../proof/throttle.ts'

/** An administrator's own factors, for what is done to the account of somebody else. */
export const OwnFactors = closed({ password: password(), totp_code: codeWhenEnrolled() })

export const UserEmailChange = closed({ email: emailAddress(), password: password(), totp_code: codeWhenEnrolled() })

export const ThrottleModel = t.Object(
  {
    failed_attempts: integerOut({ minimum: 0, examples: [3], description: 'Attempts that still count' }),
    next_attempt_at: nullable({ ...timestampOut(), description: 'Null when one is possible now' }),
  },
  { additionalProperties: false, title: 'Throttle' },
)

export function toThrottle({ failedAttempts, nextAttemptAt }: ThrottleState) {
  return {
    failed_attempts: failedAttempts,
    next_attempt_at: nextAttemptAt === null ? null : formatTimestamp(nextAttemptAt),
  }
}
