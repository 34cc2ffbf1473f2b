/** Guards the metrics: where a token is set, a request must send it as `Authorization: Bearer`. */
import { timingSafeEqual } from 'node:crypto'
import { bearer } from '@elysiajs/bearer'
import { Elysia } from 'elysia'
import { describeAddress } from '../limiter/address.ts'
import type { Limiter, Policy } from '../limiter/limiter.ts'
import { readBearer } from './bearer.ts'

/** Requests without the right token, by address. One with it always gets through: it may come from the same address. */
const REFUSALS: Policy = { name: 'metrics', limit: 10, windowSeconds: 60 }

export type MetricsTokenOptions = {
  /** Long enough that it cannot be guessed. */
  token: string
  limiter: Limiter
}

/** @returns what answers a request that may not read the metrics, and undefined for one that may */
export function createMetricsToken({ token, limiter }: MetricsTokenOptions) {
  const expected = hashOf(token)
  // The plugin alone would also take the token from the query, and `BearerXtoken`: it sees nothing of a request but a
  // header that `readBearer` has read, and written anew.
  const plugin = new Elysia().use(bearer()).get('/', ({ bearer, set }) => {
    set.status = timingSafeEqual(hashOf(bearer ?? ''), expected) ? 204 : 401
  })

  async function isAllowed(credential: string | undefined): Promise<boolean> {
    if (credential === undefined) return false
    const headers = { authorization: `Bearer ${credential}` }
    return (await plugin.handle(new Request('http://localhost/', { headers }))).status === 204
  }

  /** @param address of the socket, undefined once it is gone */
  return async function refuse({ headers }: Request, address: string | undefined): Promise<Response | undefined> {
    const authorization = headers.get('authorization')
    if (await isAllowed(readBearer(authorization ?? ''))) return undefined
    const client = describeAddress(address ?? '')
    const { allowed, retryAfter } = limiter.take(REFUSALS, client?.group ?? 'unknown')
    if (!allowed) {
      return new Response('Too many requests without the token\n', {
        status: 429,
        headers: { 'retry-after': `${retryAfter}` },
      })
    }
    const reason = authorization === null ? '' : ', error="invalid_token"'
    return new Response('Send the token of the metrics as Authorization: Bearer\n', {
      status: 401,
      headers: { 'www-authenticate': `Bearer realm="ncp metrics"${reason}` },
    })
  }
}

/** Of one length, so that the comparison takes one time. */
function hashOf(text: string): Buffer {
  return Buffer.from(Bun.SHA256.hash(text) as Uint8Array)
}
