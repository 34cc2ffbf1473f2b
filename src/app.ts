/** The whole story of a request, plugin by plugin. */
import { type AnyElysia, Elysia } from 'elysia'
import { docsRoutes } from './docs/routes.ts'
import { wellKnownRoutes } from './docs/well-known.ts'
import { createCors, variesByOrigin } from './http/cors.ts'
import { createErrors } from './http/errors.ts'
import { type GateOptions, gate } from './http/gate.ts'
import { createGuard } from './http/guard.ts'
import { createResponseHeaders, strictTransport } from './http/headers.ts'
import { createAnswerOnce } from './http/idempotency/answer-once.ts'
import { createNodeGuard, isForNodes } from './http/node-guard.ts'
import { createObserver } from './http/observer.ts'
import { handOver } from './http/request-context.ts'
import { createRouteTable } from './http/route-table.ts'
import { createReceiveUpload } from './http/upload.ts'
import type { Http } from './module.ts'
import { describedRoutes, type Panel, type Routes, standIn } from './panel.ts'
import { webRoutes } from './web/routes.ts'

/** Exact paths, so that a limit or a guard is never passed by a slash; bodies as they were sent, not stripped. */
const strict = { strictPath: true, normalize: false } as const

/**
 * @param peerAddress the address of a request's socket, undefined once it is gone
 * @param setIdleTimeout changes after how many silent seconds the connection of a request is closed
 */
export function createApp(
  panel: Panel,
  peerAddress: (request: Request) => string | undefined,
  setIdleTimeout: (request: Request, seconds: number) => void = () => undefined,
) {
  const { config, clock, log, storageLog, limiter, policies, clientAddress, credentials, nodeCredentials } = panel
  const bodyLimits = { maxBytes: config.maxBodyBytes, clock }
  const guard = createGuard({ bodyLimits, recognize: credentials.recognize })
  const described = mount(panel.routes, {
    guard,
    nodeGuard: createNodeGuard({ bodyLimits, recognize: nodeCredentials.recognize }),
    answerOnce: createAnswerOnce(panel.idempotency),
    receiveUpload: createReceiveUpload({ clock, setIdleTimeout }),
  })
  const docs = docsRoutes(described).use(wellKnownRoutes({ ...config, clock }))
  const web = webRoutes()

  const cors = createCors(config.corsOrigins)
  const routeOf = createRouteTable([...described.routes, ...docs.routes, ...web.routes])

  // Whatever is thrown becomes the envelope; an unknown route too.
  const errors = createErrors({ log, storageLog, refused: panel.incidents.refused })

  // The route: its guard asks who calls, its schemas what is sent, its service answers.
  const router = new Elysia(strict).use(errors.hook).use(handOver).use(described).use(docs).use(web)

  // Before routing: request id, address, credential, rate limit, the headers of every response, and 401 without a credential.
  const options: GateOptions = {
    limiter,
    policies,
    peerAddress,
    clientAddress,
    authenticate: credentials.authenticate,
    authenticateNode: nodeCredentials.authenticate,
    version: panel.store.version,
    clock,
    newResponseHeaders: createResponseHeaders({ ...strictTransport(config), ...(cors && variesByOrigin) }),
    cors,
    routeOf,
    route: router.fetch,
    requireWritable: panel.store.requireWritable,
    durable: panel.store.durable,
    refuse: errors.refuse,
    // At the end: what became of the request, for log and metrics.
    observe: createObserver({ log, count: panel.requests.count }),
  }

  return {
    routes: router.routes,
    fetch: gate(options),
    /** For a socket without addresses: only the routes for nodes are there, and their limit goes by node. */
    fetchForNodes: gate({
      ...options,
      peerAddress: () => undefined,
      cors: undefined,
      serves: (route) => route !== undefined && isForNodes(route),
    }),
  }
}

/** The routes to describe, for the OpenAPI document without a panel: nothing is opened, and they cannot be called. */
export function routesToDescribe(): AnyElysia {
  return mount(describedRoutes(), {
    guard: createGuard({ bodyLimits: standIn('bodyLimits'), recognize: standIn('recognize') }),
    nodeGuard: createNodeGuard({ bodyLimits: standIn('bodyLimits'), recognize: standIn('recognize') }),
    answerOnce: createAnswerOnce(standIn('idempotency')),
    receiveUpload: standIn('receiveUpload'),
  })
}

/** The routes that the OpenAPI document describes. */
function mount(routes: Routes, http: Http): AnyElysia {
  const { root, api } = routes(http)
  const use = (all: AnyElysia, more: AnyElysia): AnyElysia => all.use(more)
  return root
    .reduce(use, new Elysia(strict) as AnyElysia)
    .use(api.reduce(use, new Elysia({ ...strict, prefix: '/api/v1' }) as AnyElysia))
}
