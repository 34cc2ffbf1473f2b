/** Who is calling, and with what. */
import { AppError } from './errors.ts'

export type Role = 'admin' | 'customer'

export type Credential =
  | { kind: 'jwt'; sessionId: number; expiresAt: number }
  | { kind: 'api_key'; keyId: number; expiresAt: number | null }

export type Principal = {
  userId: number
  /** Read from the database, never from a claim: a changed role holds at the next request. */
  role: Role
  credential: Credential
  /** Two-factor authentication is required of the user and not on: until it is, there is nothing else to do. */
  mustEnrol?: boolean
}

/** Whether the credential has run out. RFC 7519 §4.1.4: "on or after" the expiry it is no longer valid. */
export function isExpired(credential: Credential, nowMs: number): boolean {
  return credential.expiresAt !== null && credential.expiresAt <= nowMs
}

/**
 * The session of a principal that came with a JWT.
 *
 * @throws AppError `forbidden` for an API key, which the guard has turned away before
 */
export function sessionIdOf({ credential }: Principal): number {
  if (credential.kind !== 'jwt') throw new AppError('forbidden')
  return credential.sessionId
}
