/** The schemas for administering another user's account. */
import { t } from 'elysia'
import { formatTimestamp } from '../../../core/timestamp.ts'
import { closed, emailAddress, integerOut, nullable, timestampOut } from '../../../http/schema.ts'
import { codeWhenEnrolled, password } from '../model.ts'
import type { ThrottleState } from '../proof/throttle.ts'

/** The administrator's own factors, for changes to another user's account. */
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
