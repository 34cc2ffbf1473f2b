/** JWTs: HS256, every claim that we rely on required (RFC 8725, RFC 7518 §3.2). */
import { jwt } from '@elysiajs/jwt'
import type { Clock } from '../core/clock.ts'

export type AccessTokens = ReturnType<typeof createAccessTokens>

const ISSUER = 'ncp'
const AUDIENCE = 'ncp-api'
const REQUIRED_CLAIMS = ['iss', 'aud', 'sub', 'jti', 'iat', 'exp']

/**
 * The plugin signs and verifies; what it leaves open is closed here: it would take any HMAC algorithm, another
 * issuer's token and one that never expires.
 *
 * @param secret at least 32 bytes
 */
export function createAccessTokens({ secret, clock }: { secret: Buffer; clock: Clock }) {
  // The plugin reads a secret as text.
  const { sign, verify } = jwt({ secret: secret.toString('hex'), alg: 'HS256', iss: ISSUER, aud: AUDIENCE }).decorator
    .jwt

  return {
    /** @param session `expiresAt` in milliseconds, a whole second */
    sign(session: { tokenId: string; userId: number; expiresAt: number }): Promise<string> {
      return sign({ jti: session.tokenId, sub: `${session.userId}`, exp: session.expiresAt / 1000 })
    },

    /** @returns undefined for a token that isn't ours, was changed, or has expired */
    async verify(token: string): Promise<{ tokenId: string; userId: number } | undefined> {
      const claims = await verify(token, {
        algorithms: ['HS256'],
        typ: 'JWT',
        issuer: ISSUER,
        audience: AUDIENCE,
        requiredClaims: REQUIRED_CLAIMS,
        currentDate: new Date(clock.now()),
      })
      if (!claims || typeof claims.jti !== 'string') return undefined
      const userId = Number(claims.sub)
      return Number.isSafeInteger(userId) ? { tokenId: claims.jti, userId } : undefined
    },
  }
}
