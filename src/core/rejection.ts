/** Why a credential was rejected: for the log, and for a caller that holds the right secret. */
import { AppError } from './errors.ts'

export type RejectionReason =
  | 'wrong_header'
  | 'malformed'
  | 'unknown'
  | 'expired'
  | 'rotated'
  | 'session_ended'
  | 'user_disabled'

export class Rejection {
  readonly reason: RejectionReason
  /** Public, and safe in a quoted string of a header. What it says about a credential is for its holder only. */
  readonly description: string | undefined

  constructor(reason: RejectionReason, description?: string) {
    this.reason = reason
    this.description = description
  }
}

// Made once: what a flood of them costs is a header.
export const unknownCredential = new Rejection('unknown')
export const wrongHeader = new Rejection(
  'wrong_header',
  'Send the credential as Authorization: Bearer <JWT or API key>',
)

/** Says that a credential which was accepted when its request began opens nothing now. */
export class Rejected extends AppError {
  readonly rejection: Rejection

  constructor(rejection: Rejection) {
    super('not_authenticated')
    this.rejection = rejection
  }
}
