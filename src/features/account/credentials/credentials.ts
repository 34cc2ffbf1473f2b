/** Finds the principal behind a bearer value: the only place that recognises API keys and JWTs. */
import { type Awaitable, whenKnown } from '../../../core/awaitable.ts'
import type { Clock } from '../../../core/clock.ts'
import { type Credential, isUsableFrom, type Principal } from '../../../core/principal.ts'
import { Rejection, unknownCredential } from '../../../core/rejection.ts'
import { sha256 } from '../../../crypto/secret.ts'
import type { ReadStore } from '../../../db/store.ts'
import { createVersionCache } from '../../../db/version-cache.ts'
import { endedSession, type IsTwoFactorRequired, principalOfKey, principalOfToken, unexpired } from './principals.ts'

/** The contract's form of an API key: `ncp_` and 32 random bytes in hex. */
const API_KEY = /^ncp_[0-9a-f]{64}$/
const malformedKey = new Rejection('malformed', 'An API key is ncp_ and 64 hexadecimal digits in lower case')

/** Credentials cached for one version of the store. */
const CACHE_ENTRIES = 10_000

export type CredentialsOptions = {
  store: ReadStore
  clock: Clock
  /** Checks signature and claims. @returns the `jti` and `sub`; undefined for a token that is not ours */
  verifyToken(token: string): Promise<{ tokenId: string; userId: number } | Rejection | undefined>
  isTwoFactorRequired: IsTwoFactorRequired
  /** Whether API keys created for self-rotation may use it. */
  allowsSelfRotation(): Promise<boolean>
  /** Called for each use. */
  record(credential: Credential): void
}

export type Credentials = ReturnType<typeof createCredentials>

export function createCredentials(options: CredentialsOptions) {
  const { store, clock, verifyToken, isTwoFactorRequired, allowsSelfRotation, record } = options
  const cache = createVersionCache<Principal>(CACHE_ENTRIES)

  async function byToken(token: string): Promise<Principal | Rejection> {
    const claims = await verifyToken(token)
    if (!claims) return unknownCredential
    if (claims instanceof Rejection) return claims
    const found = await principalOfToken(store.read, claims.tokenId, isTwoFactorRequired)
    // Without the check of `sub`, a row with a reused id could map an old token to a new user.
    return found instanceof Rejection || found.userId === claims.userId ? found : endedSession
  }

  /** Hides from a key a right that the settings do not allow. */
  async function withoutDormantRight(principal: Principal): Promise<Principal> {
    const { credential } = principal
    if (credential.kind !== 'api_key' || credential.renewableUntil === undefined) return principal
    if (await allowsSelfRotation()) return principal
    const { renewableUntil: _, ...rest } = credential
    return { ...principal, credential: rest }
  }

  function find(bearer: string, version: number): Awaitable<Principal | Rejection> {
    const isKey = bearer.startsWith('ncp_')
    if (isKey && !API_KEY.test(bearer)) return malformedKey
    const hash = isKey ? sha256(bearer) : ''
    // Only a key's hash is kept in memory. The colon, which no bearer value contains, keeps it apart from tokens:
    // otherwise someone who reads the hashes in a stolen backup could send one of them as a token.
    const cacheKey = isKey ? `key:${hash}` : bearer
    let rejection: Rejection = unknownCredential
    // Rejections are not cached: they would displace principals, and the clock may be set back.
    const load = async () => {
      const found = await (isKey ? principalOfKey(store.read, hash, isTwoFactorRequired) : byToken(bearer))
      if (!(found instanceof Rejection)) return withoutDormantRight(found)
      rejection = found
      return undefined
    }
    return whenKnown(cache.get(version, cacheKey, load), (principal) =>
      // Not cached: time passes without a commit.
      principal ? unexpired(principal, clock.now()) : rejection,
    )
  }

  return {
    /** Like `authenticate`, without counting a use: for a request whose credential was already counted. */
    recognize: (bearer: string): Awaitable<Principal | Rejection> =>
      whenKnown(store.version(), (version) => find(bearer, version)),

    /**
     * @param address of the client
     * @param version the store's, read earlier
     * @returns the principal, synchronously if cached; a rejection for a credential that is malformed, unknown, forged,
     * expired, revoked or of a disabled user
     */
    authenticate(bearer: string, address: string, version: number): Awaitable<Principal | Rejection> {
      return whenKnown(find(bearer, version), (found) => {
        // From an address that is not allowed, it is recognised, so that its user learns why, but not counted as used.
        if (!(found instanceof Rejection) && isUsableFrom(found.credential, address)) record(found.credential)
        return found
      })
    },
  }
}
