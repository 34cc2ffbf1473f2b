/** JWTs: HS256, with every claim that we rely on required (RFC 8725, RFC 7518 §3.2). */
import { jwt } from '@elysiajs/jwt'
import type { Clock } from '../core/clock.ts'
import { Rejection } from '../core/rejection.ts'
import { formatTimestamp } from '../core/timestamp.ts'

export type AccessTokens = ReturnType<typeof createAccessTokens>

const ISSUER = 'ncp'
const AUDIENCE = 'ncp-api'
const REQUIRED_CLAIMS = ['iss', 'aud', 'sub', 'jti', 'iat', 'exp']

/**
 * The plugin signs and verifies. This closes what it leaves open: it would accept any HMAC algorithm, tokens of another
 * issuer, and tokens that never expire.
 *
 * @param secret at least 32 bytes
 */
export function createAccessTokens({ secret, clock }: { secret: Buffer; clock: Clock }) {
  // The plugin takes the secret as text.
  const { sign, verify } = jwt({ secret: secret.toString('hex'), alg: 'HS256', iss: ISSUER, aud: AUDIENCE }).decorator
    .jwt

  return {
    /** @param session with `expiresAt` in milliseconds, on a whole second */
    sign(session: { tokenId: string; userId: number; expiresAt: number }): Promise<string> {
      return sign({ jti: session.tokenId, sub: `${session.userId}`, exp: session.expiresAt / 1000 })
    },

    /** @returns undefined for a token that is forged or not ours, a rejection for one of ours that has expired */
    async verify(token: string): Promise<{ tokenId: string; userId: number } | Rejection | undefined> {
      const nowMs = clock.now()
      const expiredAt = claimedExpiry(token, nowMs)
      const claims = await verify(token, {
        algorithms: ['HS256'],
        typ: 'JWT',
        issuer: ISSUER,
        audience: AUDIENCE,
        requiredClaims: REQUIRED_CLAIMS,
        // An expired token is verified as of its last second: only its holder learns that it was ours.
        currentDate: new Date(expiredAt === undefined ? nowMs : expiredAt - 1000),
      })
      if (!claims || typeof claims.jti !== 'string') return undefined
      if (expiredAt !== undefined) {
        return new Rejection('expired', `The JWT expired at ${formatTimestamp(expiredAt)}; log in again`)
      }
      const userId = Number(claims.sub)
      return Number.isSafeInteger(userId) ? { tokenId: claims.jti, userId } : undefined
    },
  }
}

/**
 * The expiry a token claims, before it is known whether the token can be trusted.
 *
 * @returns milliseconds since the epoch; undefined for a token that does not claim to have expired
 */
function claimedExpiry(token: string, nowMs: number): number | undefined {
  try {
    const { exp } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    const expiresAt = typeof exp === 'number' ? exp * 1000 : Number.NaN
    return expiresAt > 0 && expiresAt <= nowMs ? expiresAt : undefined
  } catch {
    return undefined
  }
}
