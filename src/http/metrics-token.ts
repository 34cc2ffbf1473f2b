/** Guards the metrics: if a token is configured, requests must send it as `Authorization: Bearer`. */
import { timingSafeEqual } from 'node:crypto'
import { bearer } from '@elysiajs/bearer'
import { Elysia } from 'elysia'
import { describeAddress } from '../limiter/address.ts'
import type { Limiter, Policy } from '../limiter/limiter.ts'
import { readBearer } from './bearer.ts'

/** Requests without the right token, by address. One with it always gets through: it can come from the same address. */
const REFUSALS: Policy = { name: 'metrics', limit: 10, windowSeconds: 60 }

export type MetricsTokenOptions = {
  /** Too long to guess. */
  token: string
  limiter: Limiter
}

/** @returns a function that returns the refusal for a request, or undefined if it may read the metrics */
export function createMetricsToken({ token, limiter }: MetricsTokenOptions) {
  const expected = hashOf(token)
  // On its own, the plugin would also accept a token in the query, and `BearerXtoken`. So it only ever sees a header
  // that `readBearer` has parsed and that is rewritten here.
  const plugin = new Elysia().use(bearer()).get('/', ({ bearer, set }) => {
    set.status = timingSafeEqual(hashOf(bearer ?? ''), expected) ? 204 : 401
  })

  async function isAllowed(credential: string | undefined): Promise<boolean> {
    if (credential === undefined) return false
    const headers = { authorization: `Bearer ${credential}` }
    return (await plugin.handle(new Request('http://localhost/', { headers }))).status === 204
  }

  /** @param address of the socket, undefined once the socket is gone */
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

/** Makes both the same length, so that the comparison takes constant time. */
function hashOf(text: string): Buffer {
  return Buffer.from(Bun.SHA256.hash(text) as Uint8Array)
}
