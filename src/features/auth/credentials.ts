/** From a bearer value to the principal behind it: the one place where API keys and JWTs are recognised. */
import { eq, or, sql } from 'drizzle-orm'
import { type Awaitable, whenKnown } from '../../core/awaitable.ts'
import type { Clock } from '../../core/clock.ts'
import {
  type Credential,
  isExpired,
  isUsableFrom,
  type KeyRestrictions,
  type Principal,
  type Role,
} from '../../core/principal.ts'
import { Rejection, unknownCredential } from '../../core/rejection.ts'
import type { Scope } from '../../core/scope.ts'
import { formatTimestamp } from '../../core/timestamp.ts'
import { sha256 } from '../../crypto/secret.ts'
import type { Store } from '../../db/store.ts'
import { apiKeys, sessions, users } from '../../db/tables.ts'
import { createVersionCache } from '../../db/version-cache.ts'
import { createAddressFilter, parseRanges } from '../../limiter/address.ts'

/** What the contract calls an API key: `ncp_` and 32 random bytes in hex. */
const API_KEY = /^ncp_[0-9a-f]{64}$/
const malformedKey = new Rejection('malformed', 'An API key is ncp_ and 64 hexadecimal digits in lower case')
const endedSession = new Rejection('session_ended', 'The session of this JWT has ended; log in again')
const disabledUser = new Rejection('user_disabled', 'The user of this credential is disabled')

/** Credentials remembered for one version of the store. */
const CACHE_ENTRIES = 10_000

const userColumns = { userId: users.id, role: users.role, status: users.status, totpEnabledAt: users.totpEnabledAt }
type UserColumns = { userId: number; role: Role; totpEnabledAt: number | null }

export type CredentialsOptions = {
  store: Store
  clock: Clock
  /** Checks signature and claims. @returns the `jti` and `sub`; undefined for a token that is not ours */
  verifyToken(token: string): Promise<{ tokenId: string; userId: number } | Rejection | undefined>
  /** Whether users of this role must have two-factor authentication on. */
  isTwoFactorRequired(role: Role): Promise<boolean>
  /** Told of each use. */
  record(credential: Credential): void
}

export type Credentials = ReturnType<typeof createCredentials>

export function createCredentials(options: CredentialsOptions) {
  const { store, clock, verifyToken, isTwoFactorRequired, record } = options
  const cache = createVersionCache<Principal>(store, CACHE_ENTRIES)

  const keyByHash = store.read
    .select({ key: apiKeys, ...userColumns })
    .from(apiKeys)
    .innerJoin(users, eq(users.id, apiKeys.userId))
    // Two unique indexes, one statement: a secret that was rotated is found like any other.
    .where(or(eq(apiKeys.keyHash, sql.placeholder('hash')), eq(apiKeys.previousKeyHash, sql.placeholder('hash'))))
    .prepare()
  const sessionByTokenId = store.read
    .select({ id: sessions.id, expiresAt: sessions.expiresAt, ...userColumns })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .where(eq(sessions.tokenId, sql.placeholder('tokenId')))
    .prepare()

  async function principalOf({ userId, role, totpEnabledAt }: UserColumns, credential: Credential): Promise<Principal> {
    const mustEnrol = totpEnabledAt === null && (await isTwoFactorRequired(role))
    return { userId, role, credential, mustEnrol }
  }

  /** Looked up by the whole hash through a unique index, never by the prefix. */
  async function byKey(hash: string): Promise<Principal | Rejection> {
    const row = await keyByHash.get({ hash })
    if (!row) return unknownCredential
    if (row.status !== 'active') return disabledUser
    return principalOf(row, keyCredential(row.key, hash))
  }

  async function byToken(token: string): Promise<Principal | Rejection> {
    const claims = await verifyToken(token)
    if (!claims) return unknownCredential
    if (claims instanceof Rejection) return claims
    const row = await sessionByTokenId.get({ tokenId: claims.tokenId })
    // Without the check of `sub`, a row with a reused id could map an old token to a new user.
    if (row?.userId !== claims.userId) return endedSession
    if (row.status !== 'active') return disabledUser
    const credential = { kind: 'jwt' as const, sessionId: row.id, expiresAt: row.expiresAt }
    return principalOf(row, credential)
  }

  /** Not cached: time passes without a commit, and addresses differ. */
  function admit(principal: Principal, address: string): Principal | Rejection {
    if (isExpired(principal.credential, clock.now())) return expiry(principal.credential)
    // From where it may not be used it is recognised, so that its user learns why, and not used.
    if (isUsableFrom(principal.credential, address)) record(principal.credential)
    return principal
  }

  return {
    /**
     * @param address of the client
     * @returns the principal, at once where it is remembered; a rejection for a credential that is malformed, unknown,
     * forged, expired, revoked or of a disabled user
     */
    authenticate(bearer: string, address: string): Awaitable<Principal | Rejection> {
      const isKey = bearer.startsWith('ncp_')
      if (isKey && !API_KEY.test(bearer)) return malformedKey
      const hash = isKey ? sha256(bearer) : ''
      // Only a key's hash is kept in memory. The colon, which no bearer value contains, keeps it apart from tokens:
      // otherwise whoever read the hashes in a stolen backup could send one of them as a token.
      const cacheKey = isKey ? `key:${hash}` : bearer
      let rejection: Rejection = unknownCredential
      // A rejection is not remembered: it takes no place from a principal, and time can be put back.
      const load = async () => {
        const found = await (isKey ? byKey(hash) : byToken(bearer))
        if (!(found instanceof Rejection)) return found
        rejection = found
        return undefined
      }
      return whenKnown(cache.get(cacheKey, load), (principal) => (principal ? admit(principal, address) : rejection))
    },
  }
}

type ApiKeyRow = typeof apiKeys.$inferSelect

/** @param hash of the secret that was sent: the present one, or the one before the last rotation */
function keyCredential(key: ApiKeyRow, hash: string): Credential {
  const superseded = key.keyHash !== hash
  const ends = [key.expiresAt, superseded ? key.previousValidUntil : null].filter((end) => end !== null)
  const restrictions = restrictionsOf(key)
  return {
    kind: 'api_key',
    keyId: key.id,
    expiresAt: ends.length > 0 ? Math.min(...ends) : null,
    ...(superseded && { superseded }),
    ...(restrictions && { restrictions }),
  }
}

/** Of a credential that has expired: only who holds its secret comes to this. */
function expiry(credential: Credential): Rejection {
  const end = formatTimestamp(credential.expiresAt ?? 0)
  if (credential.kind === 'jwt') return new Rejection('expired', `The JWT expired at ${end}; log in again`)
  return credential.superseded
    ? new Rejection('rotated', `The API key was rotated, and this secret of it worked until ${end}`)
    : new Rejection('expired', `The API key expired at ${end}`)
}

function restrictionsOf({ scopes, allowedCidrs, subscriptionId }: ApiKeyRow): KeyRestrictions | undefined {
  if (scopes === null && allowedCidrs === null && subscriptionId === null) return undefined
  return {
    scopes: scopes === null ? undefined : new Set<Scope>(JSON.parse(scopes)),
    allowsAddress: allowedCidrs === null ? undefined : createAddressFilter(parseRanges(JSON.parse(allowedCidrs))),
    subscriptionId: subscriptionId ?? undefined,
  }
}
