/** Who is calling, and with what. */

export type Role = 'admin' | 'customer'

export type Credential =
  | { kind: 'jwt'; sessionId: number; expiresAt: number }
  | { kind: 'api_key'; keyId: number; expiresAt: number | null }

export type Principal = {
  userId: number
  /** Read from the database, never from a claim: a changed role holds at the next request. */
  role: Role
  credential: Credential
}

/** Whether the credential has run out. RFC 7519 §4.1.4: "on or after" the expiry it is no longer valid. */
export function isExpired(credential: Credential, nowMs: number): boolean {
  return credential.expiresAt !== null && credential.expiresAt <= nowMs
}
