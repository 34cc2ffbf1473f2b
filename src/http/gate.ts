/** The gate: every request passes it before routing, so 401, 404, 413 and 429 carry its headers too. */
import { type Awaitable, whenKnown } from '../core/awaitable.ts'
import type { Clock } from '../core/clock.ts'
import { AppError, catalogue } from '../core/errors.ts'
import { isUsableFrom, type NodePrincipal, type Principal } from '../core/principal.ts'
import { Rejection, wrongHeader } from '../core/rejection.ts'
import type { ClientAddress } from '../limiter/address.ts'
import type { Limiter, Policy, Verdict } from '../limiter/limiter.ts'
import type { Policies } from '../limiter/policies.ts'
import { readBearer } from './bearer.ts'
import type { Cors } from './cors.ts'
import { notAuthenticated } from './guard.ts'
import type { NewResponseHeaders } from './headers.ts'
import { requireHost } from './host.ts'
import { tellExpiry } from './key-expiry.ts'
import { isForNodes, isNodeToken, notForNodes } from './node-guard.ts'
import { noHeaders, noReply, type RequestContext, routeWith } from './request-context.ts'
import type { Route } from './route-table.ts'

export type Fetch = (request: Request) => Awaitable<Response>

/** Where the path of a URL can begin at the earliest: after `http://` and a one-character host. */
const PATH_START = 8
/** Where Elysia starts looking for the path of a URL: it assumes a host of three characters or more. */
const ELYSIA_PATH_START = 11

/** No route takes more than ten; a URL has room for thousands, and each would have to be checked. */
const MAX_PARAMETERS = 64
const UNAVAILABLE = catalogue.unavailable.status

/** Made once: most of an error's cost is its stack, and a flood of requests should not cost us stacks. */
const rateLimited = new AppError('rate_limited')
const notServed = new AppError('not_found', 'This socket serves nodes alone')

export type GateOptions = {
  limiter: Limiter
  policies: Policies
  /** The socket's address. */
  peerAddress(request: Request): string | undefined
  clientAddress(peer: string | undefined, forwardedFor: string | null): ClientAddress
  /** Identifies the caller; a rejection for an unknown, forged, expired or revoked credential or a disabled user. */
  authenticate(bearer: string, address: string, version: number): Awaitable<Principal | Rejection>
  /** Identifies a node by its token; a rejection for one that is malformed, unknown, expired or revoked. */
  authenticateNode(bearer: string, version: number): Awaitable<NodePrincipal | Rejection>
  /** The version of the store. */
  version(): Awaitable<number>
  clock: Clock
  newResponseHeaders: NewResponseHeaders
  /** Undefined if pages of other origins may not call. */
  cors: Cors | undefined
  /** Whether the listener serves this route; undefined where it serves all. */
  serves?(route: Route | undefined): boolean
  /** Looks up what is known of a path; undefined for an unknown one. */
  routeOf(path: string): Route | undefined
  /** Routes the request. */
  route: Fetch
  /** @throws AppError `unavailable` while no changes are accepted */
  requireWritable(): void
  /**
   * Resolves once everything a response can rest on is on the disk; undefined if it already is.
   *
   * @throws AppError `unavailable` when nothing can be confirmed
   */
  durable(): Promise<void> | undefined
  /** Answers errors thrown here or passed on by a route. */
  refuse(thrown: unknown, context: RequestContext): Response
  /** Called for each request once its response is made. */
  observe(context: RequestContext, status: number): void
}

/**
 * A function around Elysia rather than a hook: Elysia would wait on every request for a hook that can be asynchronous;
 * this waits only when a credential has to be read from the database. Refused requests never reach the router.
 */
export function gate(options: GateOptions): Fetch {
  const { limiter, policies, clock, newResponseHeaders, cors, routeOf, route, refuse, observe } = options
  const { requireWritable, durable } = options

  function toRoute(context: RequestContext): Awaitable<Response> {
    return isRead(context.request) ? routed(context) : change(context)
  }

  function routed(context: RequestContext): Awaitable<Response> {
    const { url } = context.request
    // With a host as short as `ncp`, Elysia would lose the first segment of the path.
    const start = url.indexOf('/', PATH_START)
    if (start < ELYSIA_PATH_START) context.request = new Request(`http://localhost${url.slice(start)}`, context.request)
    return routeWith(context, route)
  }

  /**
   * The response to a change, even "already done" or "nothing to do", may rest on what another caller just committed.
   * A read confirms nothing, and does not wait.
   */
  async function change(context: RequestContext): Promise<Response> {
    requireWritable()
    const headers = new Headers(context.responseHeaders)
    const response = await routed(context)
    // This response claims nothing.
    if (response.status === UNAVAILABLE) return response
    try {
      await durable()
    } catch (error) {
      // Without the headers in which the route reported an outcome.
      context.responseHeaders = headers
      throw error
    }
    return response
  }

  function pass(context: RequestContext): Awaitable<Response> {
    const { group } = context.client
    if (options.serves && !options.serves(context.route)) throw notServed
    if (cors?.isPreflight(context.request)) {
      return admit(context, limit(context, policies.preflight, group), cors.answerPreflight)
    }
    const byAddress = policies.byAddress(context.request.method, context.path)
    // Where the policy goes by address, no credential is checked: a refused login costs no query.
    if (byAddress) return admit(context, limit(context, byAddress, group))
    return whenKnown(recognize(context), (found) => {
      if (found instanceof Rejection) context.rejection = found
      else context.principal = found
      const { principal, node } = context
      if (node) return admit(context, limit(context, policies.node, `${node.nodeId}`))
      // A stolen key tried from elsewhere does not use up its user's limit.
      const isOnUser = principal !== undefined && isUsableFrom(principal.credential, context.client.address)
      if (!isOnUser) return admit(context, limit(context, policies.anonymous, group))
      const verdict = limit(context, policies.user, `${principal.userId}`)
      tellExpiry(principal.credential, clock.now(), context.responseHeaders)
      return admit(context, verdict)
    })
  }

  /** From here on the context has its response headers. */
  function limit(context: RequestContext, policy: Policy, key: string): Verdict {
    const verdict = limiter.take(policy, key)
    context.responseHeaders = newResponseHeaders(context.requestId, verdict)
    cors?.allow(context.request, context.responseHeaders)
    return verdict
  }

  function recognize(context: RequestContext): Awaitable<Principal | Rejection | undefined> {
    const authorization = context.request.headers.get('authorization')
    if (authorization === null) return undefined
    context.credentialSent = true
    const bearer = readBearer(authorization)
    if (bearer === undefined) return wrongHeader
    return whenKnown(options.version(), (version) => {
      context.version = version
      if (isNodeToken(bearer)) return recognizeNode(context, bearer)
      return options.authenticate(bearer, context.client.address, version)
    })
  }

  function recognizeNode(context: RequestContext, bearer: string): Awaitable<Rejection | undefined> {
    return whenKnown(options.authenticateNode(bearer, context.version), (found) => {
      if (found instanceof Rejection) return found
      context.node = found
      return undefined
    })
  }

  function admit(
    context: RequestContext,
    { allowed, retryAfter }: Verdict,
    answer: (context: RequestContext) => Awaitable<Response> = toRoute,
  ): Awaitable<Response> {
    const { request, principal, node, route } = context
    if (!allowed) {
      context.responseHeaders.set('retry-after', `${retryAfter}`)
      return refuse(rateLimited, context)
    }
    requireHost(request)
    requireUniqueParameters(request.url)
    // The guard of the route would say the same, only later.
    if (route?.needsCredential.has(request.method)) {
      if (node && !isForNodes(route)) return refuse(notForNodes, context)
      if (!principal && !node) return refuse(notAuthenticated, context)
    }
    return answer(context)
  }

  return (request) => {
    const path = pathOf(request.url)
    const context: RequestContext = {
      requestId: Bun.randomUUIDv7(),
      startedAt: performance.now(),
      request,
      received: request,
      path,
      route: routeOf(path),
      client: options.clientAddress(options.peerAddress(request), request.headers.get('x-forwarded-for')),
      credentialSent: false,
      version: 0,
      principal: undefined,
      node: undefined,
      rejection: undefined,
      caller: undefined,
      responseHeaders: noHeaders,
      reply: noReply,
    }
    const done = (response: Response): Response => {
      observe(context, response.status)
      return response
    }
    const failed = (thrown: unknown): Response => {
      // A failure before the caller is known, such as an unreadable database, counts against the address.
      if (context.responseHeaders === noHeaders) limit(context, policies.anonymous, context.client.group)
      return done(refuse(thrown, context))
    }
    let response: Awaitable<Response>
    try {
      response = pass(context)
    } catch (thrown) {
      return failed(thrown)
    }
    return response instanceof Promise ? response.then(done, failed) : done(response)
  }
}

function isRead({ method }: Request): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS'
}

/** As Elysia reads it: a limit on a path must apply to what is routed. Without a host, the URL is the path. */
function pathOf(url: string): string {
  const start = url.startsWith('/') ? 0 : url.indexOf('/', PATH_START)
  const end = url.indexOf('?', start + 1)
  return url.substring(start, end === -1 ? undefined : end)
}

/** Of two values, the router would take one and a program in front of it perhaps the other. */
function requireUniqueParameters(url: string): void {
  const start = url.indexOf('?')
  if (start === -1) return
  const query = url.slice(start + 1)
  if (query.split('&', MAX_PARAMETERS + 1).length > MAX_PARAMETERS) {
    throw new AppError('bad_request', `Give at most ${MAX_PARAMETERS} query parameters`)
  }
  const names = [...new URLSearchParams(query).keys()]
  if (new Set(names).size < names.length) throw new AppError('bad_request', 'Give each query parameter once')
}
