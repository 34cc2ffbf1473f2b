/** What the gate learns about a request before routing, for all code behind it. */
import { Elysia } from 'elysia'
import type { AuthenticatedUser, Caller, NodeActor, Origin, UnauthenticatedClient } from '../core/actor.ts'
import type { NodePrincipal, Principal } from '../core/principal.ts'
import type { Rejection } from '../core/rejection.ts'
import type { ClientAddress } from '../limiter/address.ts'
import type { Route } from './route-table.ts'

export type RequestContext = {
  requestId: string
  /** Milliseconds of a monotonic clock; only differences mean something. */
  startedAt: number
  /** As the router reads it. */
  path: string
  /** Undefined for an unknown path. */
  route: Route | undefined
  client: ClientAddress
  /** Whether an Authorization header was sent at all. */
  credentialSent: boolean
  /** The version of the store when the request came: what is read for the request is cached under it. */
  version: number
  principal: Principal | undefined
  /** The node that sent the request; then there is no principal. */
  node: NodePrincipal | undefined
  /** Why there is no principal although a credential was sent. */
  rejection: Rejection | undefined
  /** The principal and what the route requires, once the guard has let the request through. */
  caller: Caller | undefined
  request: Request
  /** As the listener knows it: `request` may be a copy with another URL, of which it knows no connection. */
  received: Request
  /**
   * The headers of the response, even of an error. Set them here, never in Elysia's `set.headers`: copying a `Headers`
   * costs a fifth of filling one from an object.
   */
  responseHeaders: Headers
  /** Where Elysia reads the response status from. */
  reply: { status?: number | string }
}

/** A placeholder until the gate knows which limit applies. */
export const noHeaders = new Headers()
/** A placeholder until Elysia has made its own. */
export const noReply = {}

/** The context travels on its request: a map from requests to contexts would keep them all until the next GC. */
const key = Symbol('ncp.request-context')
type PassedRequest = Request & { [key]?: RequestContext }

/** Routes a request that has passed the gate. */
export function routeWith<Result>(context: RequestContext, route: (request: Request) => Result): Result {
  const request: PassedRequest = context.request
  request[key] = context
  return route(request)
}

const nothing = new Request('http://localhost')

/** Used in Elysia's context until `handOver` runs, which is before anything else. */
const placeholder: RequestContext = {
  requestId: '',
  startedAt: 0,
  path: '',
  route: undefined,
  client: { address: 'unknown', group: 'unknown' },
  credentialSent: false,
  version: 0,
  principal: undefined,
  node: undefined,
  rejection: undefined,
  caller: undefined,
  request: nothing,
  received: nothing,
  responseHeaders: noHeaders,
  reply: noReply,
}

/** Gives routes and hooks a `context`. */
export const requestContext = new Elysia({ name: 'request-context' }).decorate('context', placeholder)

/** Puts the request's context into Elysia's, and its headers into the response. */
export const handOver = new Elysia({ name: 'hand-over' })
  .use(requestContext)
  .onRequest((elysia) => {
    const context = (elysia.request as PassedRequest)[key]
    if (!context) throw new Error('A request came past the gate')
    elysia.context = context
    context.reply = elysia.set
    // Elysia passes them to `new Response` as they are; its type knows only the plain object that Elysia itself makes.
    elysia.set.headers = context.responseHeaders as never
  })
  .as('global')

/** The client of a request that needs no credential. */
export function unauthenticatedClientOf(context: RequestContext): UnauthenticatedClient {
  return { kind: 'unauthenticated', origin: originOf(context) }
}

/** The sender of a request, with or without a credential. */
export function senderOf(context: RequestContext): AuthenticatedUser | NodeActor | UnauthenticatedClient {
  const { principal, node } = context
  if (node) return { ...node, kind: 'node', origin: originOf(context) }
  return principal ? { ...principal, kind: 'user', origin: originOf(context) } : unauthenticatedClientOf(context)
}

export function originOf({ client: { address, group }, requestId, request }: RequestContext): Origin {
  return { address, group, requestId, userAgent: request.headers.get('user-agent') ?? '' }
}
