/** The gate: every request passes here before it is routed, so that 401, 404, 413 and 429 carry its headers too. */
import { Elysia } from 'elysia'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import type { ClientAddress } from '../limiter/address.ts'
import type { Limiter, Verdict } from '../limiter/limiter.ts'
import type { Policies } from '../limiter/policies.ts'
import { readBearer } from './bearer.ts'
import { type Visit, visit } from './visit.ts'

/** The first index of a URL at which Elysia looks for its path. */
const ELYSIA_PATH_START = 11

export type GateOptions = {
  limiter: Limiter
  policies: Policies
  /** The socket's address. */
  peerAddress(request: Request): string | undefined
  clientAddress(peer: string | undefined, forwardedFor: string | null): ClientAddress
  /** Whose credential this is; undefined for one that is unknown, forged, expired, revoked or of a disabled user. */
  authenticate(bearer: string): Promise<Principal | undefined>
}

export function gate(options: GateOptions) {
  const { limiter, policies } = options

  return new Elysia({ name: 'gate' })
    .use(visit)
    .onRequest(async (context) => {
      const { request, set } = context
      // The path as the router will read it, which Elysia has in the context already but leaves out of this hook's type.
      const { path } = context as typeof context & { path: string }
      const { headers } = request
      const arrived: Visit = {
        requestId: Bun.randomUUIDv7(),
        client: options.clientAddress(options.peerAddress(request), headers.get('x-forwarded-for')),
        bearer: undefined,
        credentialSent: false,
        principal: undefined,
      }
      context.visit = arrived
      set.headers['x-request-id'] = arrived.requestId

      const policy = policies.byAddress(request.method, path)
      // Where the address decides, no credential is looked at: a refused login costs no query.
      if (!policy) await recognize(arrived, headers)
      const verdict = policy
        ? limiter.take(policy, arrived.client.group)
        : arrived.principal
          ? limiter.take(policies.user, `${arrived.principal.userId}`)
          : limiter.take(policies.anonymous, arrived.client.group)
      tell(verdict, set.headers)
      if (!verdict.allowed) throw new AppError('rate_limited', undefined, { 'retry-after': `${verdict.retryAfter}` })

      requireOneHost(headers, request.url)
      requireUniqueParameters(request.url)
    })
    .as('global')

  async function recognize(arrived: Visit, headers: Headers): Promise<void> {
    const authorization = headers.get('authorization')
    if (authorization === null) return
    arrived.credentialSent = true
    const bearer = readBearer(authorization)
    if (bearer === undefined) return
    // One spelling for whoever reads the header next, whatever case and spaces the client used.
    if (authorization !== `Bearer ${bearer}`) headers.set('authorization', `Bearer ${bearer}`)
    const principal = await options.authenticate(bearer)
    if (!principal) return
    arrived.bearer = bearer
    arrived.principal = principal
  }
}

/** The contract's three headers, and the standard's two (draft-ietf-httpapi-ratelimit-headers). */
function tell({ policy, remaining, resetAt, retryAfter }: Verdict, headers: Record<string, string | number>): void {
  headers['x-ratelimit-limit'] = `${policy.limit}`
  headers['x-ratelimit-remaining'] = `${remaining}`
  headers['x-ratelimit-reset'] = `${resetAt}`
  headers['ratelimit-policy'] = `"${policy.name}";q=${policy.limit};w=${policy.windowSeconds}`
  headers.ratelimit = `"${policy.name}";r=${remaining};t=${retryAfter}`
}

/** Of two values, the router would take one and a program in front of it perhaps the other. */
function requireUniqueParameters(url: string): void {
  const start = url.indexOf('?')
  if (start === -1) return
  const names = [...new URLSearchParams(url.slice(start + 1)).keys()]
  if (new Set(names).size < names.length) throw new AppError('bad_request', 'Give each query parameter once')
}

/** RFC 9112 §3.2: exactly one Host. Bun joins two with a comma, and lets HTTP/1.0 come without. */
function requireOneHost(headers: Headers, url: string): void {
  const host = headers.get('host')
  if (!host || host.includes(',')) throw new AppError('bad_request', 'Host: exactly one Host header is required')
  // Elysia looks for the path from there on: a shorter origin would lose its first segment, and pass a proxy's rules.
  if (url.indexOf('/', url.indexOf('//') + 2) < ELYSIA_PATH_START) {
    throw new AppError('bad_request', 'Host: is too short; use a longer name, or send the port with it')
  }
}
