/** Reads the principal of a stored credential, for the gate and again for each transaction. */
import { eq, or } from 'drizzle-orm'
import { type Credential, isExpired, type KeyRestrictions, type Principal, type Role } from '../../../core/principal.ts'
import { Rejection, unknownCredential } from '../../../core/rejection.ts'
import type { Scope } from '../../../core/scope.ts'
import { formatTimestamp } from '../../../core/timestamp.ts'
import { given, prepare } from '../../../db/statements.ts'
import type { Queries } from '../../../db/store.ts'
import { apiKeys, sessions, users } from '../../../db/tables.ts'
import { createAddressFilter, parseRanges } from '../../../limiter/address.ts'

/** Whether users of this role must have two-factor authentication enabled. */
export type IsTwoFactorRequired = (role: Role) => Promise<boolean>

type UserColumns = Pick<typeof users.$inferSelect, 'role' | 'status' | 'totpEnabledAt'> & { userId: number }
type SessionRow = UserColumns & { id: number; expiresAt: number }
type ApiKeyRow = typeof apiKeys.$inferSelect

export const endedSession = new Rejection('session_ended', 'The session of this JWT has ended; log in again')
const disabledUser = new Rejection('user_disabled', 'The user of this credential is disabled')

const userColumns = { userId: users.id, role: users.role, status: users.status, totpEnabledAt: users.totpEnabledAt }
const sessionColumns = { id: sessions.id, expiresAt: sessions.expiresAt, ...userColumns }

const findKey = prepare((queries) =>
  queries
    .select({ key: apiKeys, ...userColumns })
    .from(apiKeys)
    .innerJoin(users, eq(users.id, apiKeys.userId))
    // Two unique indexes, one statement: a rotated secret is found like any other.
    .where(or(eq(apiKeys.keyHash, given('hash')), eq(apiKeys.previousKeyHash, given('hash')))),
)
const findByTokenId = prepare((queries) =>
  queries
    .select(sessionColumns)
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .where(eq(sessions.tokenId, given('tokenId'))),
)
const findById = prepare((queries) =>
  queries
    .select(sessionColumns)
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .where(eq(sessions.id, given('id'))),
)

/**
 * Looked up by the whole hash through a unique index, never by the prefix.
 *
 * @param hash SHA-256 of the secret, in hex
 * @returns a rejection for an unknown secret and for a disabled user. Expiry is left to `unexpired`.
 */
export async function principalOfKey(
  queries: Queries,
  hash: string,
  isRequired: IsTwoFactorRequired,
): Promise<Principal | Rejection> {
  const row = await findKey.first(queries, { hash })
  return row ? principalOf(row, keyCredential(row.key, hash), isRequired) : unknownCredential
}

/** @returns a rejection for an ended session and for a disabled user. As above, it may have expired. */
export async function principalOfToken(
  queries: Queries,
  tokenId: string,
  isRequired: IsTwoFactorRequired,
): Promise<Principal | Rejection> {
  return principalOfSession(await findByTokenId.first(queries, { tokenId }), isRequired)
}

/**
 * The current principal of a credential that was accepted earlier.
 *
 * @returns a rejection for a key that was deleted or lost this secret, an ended session, and a disabled user. As
 * above, it may have expired.
 */
export async function principalAgain(
  queries: Queries,
  credential: Credential,
  isRequired: IsTwoFactorRequired,
): Promise<Principal | Rejection> {
  return credential.kind === 'api_key'
    ? principalOfKey(queries, credential.secretHash, isRequired)
    : principalOfSession(await findById.first(queries, { id: credential.sessionId }), isRequired)
}

/** @returns the principal, or the reason why it is not valid at this time */
export function unexpired(principal: Principal, nowMs: number): Principal | Rejection {
  return isExpired(principal.credential, nowMs) ? expiry(principal.credential) : principal
}

/** For an expired credential: only a client with its secret gets this far. */
function expiry(credential: Credential): Rejection {
  const end = formatTimestamp(credential.expiresAt ?? 0)
  if (credential.kind === 'jwt') return new Rejection('expired', `The JWT expired at ${end}; log in again`)
  return credential.superseded
    ? new Rejection('rotated', `The API key was rotated; this secret worked until ${end}`)
    : new Rejection('expired', `The API key expired at ${end}`)
}

async function principalOfSession(row: SessionRow | undefined, isRequired: IsTwoFactorRequired) {
  if (!row) return endedSession
  return principalOf(row, { kind: 'jwt', sessionId: row.id, expiresAt: row.expiresAt }, isRequired)
}

async function principalOf(
  user: UserColumns,
  credential: Credential,
  isRequired: IsTwoFactorRequired,
): Promise<Principal | Rejection> {
  const { userId, role, status, totpEnabledAt } = user
  if (status !== 'active') return disabledUser
  const mustEnrol = totpEnabledAt === null && (await isRequired(role))
  return { userId, role, credential, mustEnrol }
}

/** @param hash of the secret that was sent: the current one or the one before the last rotation */
function keyCredential(key: ApiKeyRow, hash: string): Credential {
  const superseded = key.keyHash !== hash
  const ends = [key.expiresAt, superseded ? key.previousValidUntil : null].filter((end) => end !== null)
  const restrictions = restrictionsOf(key)
  return {
    kind: 'api_key',
    keyId: key.id,
    secretHash: hash,
    expiresAt: ends.length > 0 ? Math.min(...ends) : null,
    ...(superseded && { superseded }),
    ...(key.renewableUntil !== null && !superseded && { renewableUntil: key.renewableUntil }),
    ...(restrictions && { restrictions }),
  }
}

function restrictionsOf({ scopes, allowedCidrs, subscriptionId, sites }: ApiKeyRow): KeyRestrictions | undefined {
  if (scopes === null && allowedCidrs === null && subscriptionId === null && sites === null) return undefined
  return {
    scopes: scopes === null ? undefined : new Set<Scope>(JSON.parse(scopes)),
    allowsAddress: allowedCidrs === null ? undefined : createAddressFilter(parseRanges(JSON.parse(allowedCidrs))),
    subscriptionId: subscriptionId ?? undefined,
    siteIds: sites === null ? undefined : new Set<number>(JSON.parse(sites)),
  }
}
