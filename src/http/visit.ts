/** What the gate finds out about a request before it is routed, for everyone behind it. */
import { Elysia } from 'elysia'
import type { AuthenticatedUser, Caller, Origin, Stranger } from '../core/actor.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import type { Rejection } from '../core/rejection.ts'
import type { Rights } from '../core/rights.ts'
import type { ClientAddress } from '../limiter/address.ts'
import type { Route } from './route-table.ts'

export type Visit = {
  requestId: string
  /** Milliseconds of a clock that is never put back, and that means nothing by itself. */
  startedAt: number
  /** As the router reads it. */
  path: string
  /** Undefined for a path that nothing serves. */
  route: Route | undefined
  client: ClientAddress
  /** Whether an Authorization header was sent at all. */
  credentialSent: boolean
  principal: Principal | undefined
  /** Why there is no principal, where a credential was sent. */
  rejection: Rejection | undefined
  /** What the route asks of its caller, once the guard has let the request through. */
  rights: Rights | undefined
  request: Request
  /**
   * The headers of the response, whatever becomes of it. Everybody sets them here and nobody in Elysia's `set.headers`:
   * copying a `Headers` costs a fifth of filling one from an object.
   */
  responseHeaders: Headers
}

/** Stands in a visit until the gate knows which limit it falls under. */
export const noHeaders = new Headers()

/** Stands in the context until the visit is handed over, which is before anything else. */
const nobody: Visit = {
  requestId: '',
  startedAt: 0,
  path: '',
  route: undefined,
  client: { address: 'unknown', group: 'unknown' },
  credentialSent: false,
  principal: undefined,
  rejection: undefined,
  rights: undefined,
  request: new Request('http://localhost'),
  responseHeaders: noHeaders,
}

/** On its way from the gate to the context, which Elysia makes. */
let arriving: Visit | undefined

/**
 * Routes a request. Elysia calls the hook of `handOver` at once, so that one place is enough: a map from requests to visits
 * would keep them all until the next garbage collection.
 */
export function routeVisit<Result>(route: (request: Request) => Result, visit: Visit): Result {
  arriving = visit
  return route(visit.request)
}

/** Lets routes and hooks know of a `visit` in their context. */
export const visit = new Elysia({ name: 'visit' }).decorate('visit', nobody)

/** Puts the visit into the context, and its headers into the response. */
export const handOver = new Elysia({ name: 'hand-over' })
  .use(visit)
  .onRequest((context) => {
    const arrived = arriving
    arriving = undefined
    if (arrived?.request !== context.request) throw new Error('A request came past the gate')
    context.visit = arrived
    // Elysia hands them to `new Response` as they are; its type knows only the object that it makes itself.
    context.set.headers = arrived.responseHeaders as never
  })
  .as('global')

/**
 * The user behind a request that the guard has let through.
 *
 * @throws AppError `not_authenticated`
 */
export function callerOf(visit: Visit): Caller {
  const { principal, rights } = visit
  if (!principal || !rights) throw new AppError('not_authenticated')
  return { kind: 'user', ...principal, origin: originOf(visit), rights }
}

/** Whoever is behind a request that needs no credential. */
export function strangerOf(visit: Visit): Stranger {
  return { kind: 'stranger', origin: originOf(visit) }
}

/** Whoever is behind a request, with or without a credential. */
export function actorOf(visit: Visit): AuthenticatedUser | Stranger {
  return visit.principal ? { kind: 'user', ...visit.principal, origin: originOf(visit) } : strangerOf(visit)
}

function originOf({ client, requestId, request }: Visit): Origin {
  return { ...client, requestId, userAgent: request.headers.get('user-agent') ?? '' }
}
