/** Who is calling, and with what. */
import { AppError } from './errors.ts'
import type { Scope } from './scope.ts'

export type Role = 'admin' | 'customer'

/** What the maker of a key has taken from it; what is undefined is as wide as the rights of its user. */
export type KeyRestrictions = {
  scopes: ReadonlySet<Scope> | undefined
  /** Whether it may be used from an address. */
  allowsAddress: ((address: string) => boolean) | undefined
  /** The one subscription that it sees. */
  subscriptionId: number | undefined
  /** The sites that it sees, all of that subscription; undefined for all that are in it. */
  siteIds: ReadonlySet<number> | undefined
}

export type Credential =
  | { kind: 'jwt'; sessionId: number; expiresAt: number }
  | {
      kind: 'api_key'
      keyId: number
      /** SHA-256, in hex, of the secret that was sent: a key that was rotated may have two. */
      secretHash: string
      expiresAt: number | null
      /** It was rotated, and this is the old secret, for as long as that is still valid. */
      superseded?: boolean
      /** Until when it may rotate itself, in milliseconds since the epoch; absent where it may not. */
      renewableUntil?: number
      /** Absent for a key with all the rights of its user. */
      restrictions?: KeyRestrictions
    }

export type Principal = {
  userId: number
  /** Read from the database, never from a claim: a changed role holds at the next request. */
  role: Role
  credential: Credential
  /** Two-factor authentication is required of the user and not on: until it is, there is nothing else to do. */
  mustEnrol?: boolean
}

/** A machine that serves sites, by its token. It is no user: it may call the routes for nodes, and nothing else. */
export type NodePrincipal = {
  nodeId: number
  /** SHA-256, in hex, of the token that was sent: after a rotation, two are valid for a while. */
  tokenHash: string
  /** The end of a token that was rotated, in milliseconds since the epoch; null for the current one. */
  validUntil: number | null
}

/** Whether the credential has run out. RFC 7519 §4.1.4: "on or after" the expiry it is no longer valid. */
export function isExpired(credential: Credential, nowMs: number): boolean {
  return credential.expiresAt !== null && credential.expiresAt <= nowMs
}

/** Whether the credential may be used from an address. */
export function isUsableFrom(credential: Credential, address: string): boolean {
  if (credential.kind !== 'api_key' || !credential.restrictions) return true
  return credential.restrictions.allowsAddress?.(address) ?? true
}

/** The one subscription that a principal sees; undefined for one that sees all of its user. */
export function boundSubscriptionOf({ credential }: Principal): number | undefined {
  return credential.kind === 'api_key' ? credential.restrictions?.subscriptionId : undefined
}

/** The sites that a principal sees; undefined for one that sees all of its subscriptions. */
export function boundSitesOf({ credential }: Principal): ReadonlySet<number> | undefined {
  return credential.kind === 'api_key' ? credential.restrictions?.siteIds : undefined
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
