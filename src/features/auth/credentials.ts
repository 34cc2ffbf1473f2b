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
import type { Scope } from '../../core/scope.ts'
import { sha256 } from '../../crypto/secret.ts'
import type { Store } from '../../db/store.ts'
import { apiKeys, sessions, users } from '../../db/tables.ts'
import { createVersionCache } from '../../db/version-cache.ts'
import { createAddressFilter, parseRanges } from '../../limiter/address.ts'

/** What the contract calls an API key: `ncp_` and 32 random bytes in hex. */
const API_KEY = /^ncp_[0-9a-f]{64}$/
/** Credentials remembered for one version of the store. */
const CACHE_ENTRIES = 10_000

const userColumns = { userId: users.id, role: users.role, status: users.status, totpEnabledAt: users.totpEnabledAt }
type UserColumns = { userId: number; role: Role; totpEnabledAt: number | null }

export type CredentialsOptions = {
  store: Store
  clock: Clock
  /** Checks signature and claims. @returns the `jti` and `sub`, or undefined for a token that isn't ours */
  verifyToken(token: string): Promise<{ tokenId: string; userId: number } | undefined>
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
  async function byKey(hash: string): Promise<Principal | undefined> {
    const row = await keyByHash.get({ hash })
    if (row?.status !== 'active') return undefined
    return principalOf(row, keyCredential(row.key, hash))
  }

  async function byToken(token: string): Promise<Principal | undefined> {
    const claims = await verifyToken(token)
    if (!claims) return undefined
    const row = await sessionByTokenId.get({ tokenId: claims.tokenId })
    // Without the check of `sub`, a row with a reused id could map an old token to a new user.
    if (row?.status !== 'active' || row.userId !== claims.userId) return undefined
    const credential = { kind: 'jwt' as const, sessionId: row.id, expiresAt: row.expiresAt }
    return principalOf(row, credential)
  }

  /** Not cached: time passes without a commit, and addresses differ. */
  function admit(principal: Principal | undefined, address: string): Principal | undefined {
    if (!principal || isExpired(principal.credential, clock.now())) return undefined
    // From where it may not be used it is recognised, so that its user learns why, and not used.
    if (isUsableFrom(principal.credential, address)) record(principal.credential)
    return principal
  }

  return {
    /**
     * @param address of the client
     * @returns the principal, at once where it is remembered; undefined for a credential that is malformed, unknown,
     * forged, expired, revoked or of a disabled user
     */
    authenticate(bearer: string, address: string): Awaitable<Principal | undefined> {
      const isKey = bearer.startsWith('ncp_')
      if (isKey && !API_KEY.test(bearer)) return undefined
      const hash = isKey ? sha256(bearer) : ''
      // Only a key's hash is kept in memory. The colon, which no bearer value contains, keeps it apart from tokens:
      // otherwise whoever read the hashes in a stolen backup could send one of them as a token.
      const cacheKey = isKey ? `key:${hash}` : bearer
      return whenKnown(
        cache.get(cacheKey, () => (isKey ? byKey(hash) : byToken(bearer))),
        (principal) => admit(principal, address),
      )
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

function restrictionsOf({ scopes, allowedCidrs, subscriptionId }: ApiKeyRow): KeyRestrictions | undefined {
  if (scopes === null && allowedCidrs === null && subscriptionId === null) return undefined
  return {
    scopes: scopes === null ? undefined : new Set<Scope>(JSON.parse(scopes)),
    allowsAddress: allowedCidrs === null ? undefined : createAddressFilter(parseRanges(JSON.parse(allowedCidrs))),
    subscriptionId: subscriptionId ?? undefined,
  }
}
