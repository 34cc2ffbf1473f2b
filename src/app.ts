/** The whole story of a request, plugin by plugin. */
import { Elysia } from 'elysia'
import type { Context } from './context.ts'
import { docsRoutes } from './docs/routes.ts'
import { wellKnownRoutes } from './docs/well-known.ts'
import { administrationRoutes } from './features/account/administration/routes.ts'
import { adminApiKeyRoutes } from './features/account/api-keys/admin-routes.ts'
import { apiKeyRoutes } from './features/account/api-keys/routes.ts'
import { emailRoutes } from './features/account/email/routes.ts'
import { passwordRoutes } from './features/account/password/routes.ts'
import { adminSessionRoutes } from './features/account/session/admin-routes.ts'
import { authRoutes } from './features/account/session/routes.ts'
import { twoFactorRoutes } from './features/account/two-factor/routes.ts'
import { userRoutes } from './features/account/users/routes.ts'
import { siteRoutes } from './features/hosting/sites/routes.ts'
import { adminSubscriptionRoutes, subscriptionRoutes } from './features/hosting/subscriptions/routes.ts'
import { auditRoutes } from './features/operation/audit/routes.ts'
import { healthRoutes } from './features/operation/health/routes.ts'
import { settingRoutes } from './features/operation/settings/routes.ts'
import { createCors, variesByOrigin } from './http/cors.ts'
import { createErrors } from './http/errors.ts'
import { gate } from './http/gate.ts'
import { createGuard, type Guard } from './http/guard.ts'
import { createResponseHeaders, strictTransport } from './http/headers.ts'
import { createAnswerOnce } from './http/idempotency/answer-once.ts'
import { createObserver } from './http/observer.ts'
import { handOver } from './http/request-context.ts'
import { createRouteTable } from './http/route-table.ts'

/** Exact paths, so that a limit or a guard is never passed by a slash; bodies as they were sent, not stripped. */
const strict = { strictPath: true, normalize: false } as const

/** @param peerAddress the address of a request's socket, undefined once it is gone */
export function createApp(context: Context, peerAddress: (request: Request) => string | undefined) {
  const { config, clock, log, storageLog, limiter, policies, clientAddress, credentials } = context
  const bodyLimits = { maxBytes: config.maxBodyBytes, clock }
  const guard = createGuard({ bodyLimits, recognize: credentials.recognize })
  const described = routes(context, guard)
  const docs = docsRoutes(described).use(wellKnownRoutes({ ...config, clock }))

  const cors = createCors(config.corsOrigins)
  const routeOf = createRouteTable([...described.routes, ...docs.routes])

  // Whatever is thrown becomes the envelope; an unknown route too.
  const errors = createErrors({ log, storageLog, refused: context.incidents.refused })

  // The route: its guard asks who calls, its schemas what is sent, its service answers.
  const router = new Elysia(strict).use(errors.hook).use(handOver).use(described).use(docs)

  return {
    routes: router.routes,
    // Before routing: request id, address, credential, rate limit, the headers of every response, and 401 without a credential.
    fetch: gate({
      limiter,
      policies,
      peerAddress,
      clientAddress,
      authenticate: credentials.authenticate,
      clock,
      newResponseHeaders: createResponseHeaders({ ...strictTransport(config), ...(cors && variesByOrigin) }),
      cors,
      routeOf,
      route: router.fetch,
      requireWritable: context.store.requireWritable,
      durable: context.store.durable,
      refuse: errors.refuse,
      // At the end: what became of the request, for log and metrics.
      observe: createObserver({ log, count: context.requests.count }),
    }),
  }
}

/**
 * The routes to describe, for the OpenAPI document without a panel: nothing is opened, and they cannot be called.
 */
export function routesToDescribe() {
  const context: Context = standIn('context')
  return routes(context, createGuard({ bodyLimits: standIn('bodyLimits'), recognize: standIn('recognize') }))
}

/** Takes the place of a service that routes are wired to. @throws Error when it is called */
function standIn<Service>(name: string): Service {
  const refuse = () => {
    throw new Error(`${name} was called while the routes were only described`)
  }
  return new Proxy(refuse, { get: (_, property) => standIn(`${name}.${String(property)}`) }) as Service
}

/** The routes that the OpenAPI document describes. */
function routes(context: Context, guard: Guard) {
  const { apiKeys, audit, settings, sites, pages, subscriptions, users } = context
  const { administration, throttle } = context
  const { login, sessions, password, passwordReset, emailChange, twoFactor, tokens } = context
  const answerOnce = createAnswerOnce(context.idempotency)
  const api = new Elysia({ ...strict, prefix: '/api/v1' })
    .use(authRoutes({ guard, login, sessions, tokens, getUser: users.get, findKey: apiKeys.find }))
    .use(passwordRoutes({ guard, password, passwordReset }))
    .use(emailRoutes({ guard, emailChange }))
    .use(twoFactorRoutes({ guard, twoFactor }))
    .use(apiKeyRoutes({ guard, apiKeys, rotateSelf: context.rotateSelf, answerOnce }))
    .use(siteRoutes({ guard, sites, pages, answerOnce }))
    .use(subscriptionRoutes({ guard, subscriptions }))
    .use(userRoutes({ guard, users, answerOnce }))
    .use(adminSubscriptionRoutes({ guard, subscriptions, answerOnce }))
    .use(adminSessionRoutes({ guard, sessions, getUser: users.get }))
    .use(adminApiKeyRoutes({ guard, apiKeys, getUser: users.get }))
    .use(administrationRoutes({ guard, administration, throttle, getUser: users.get }))
    .use(settingRoutes({ guard, settings }))
    .use(auditRoutes({ guard, audit }))
  return new Elysia(strict).use(healthRoutes({ guard, check: context.health.check })).use(api)
}
