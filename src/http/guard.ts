/** Who may call a route: the `auth` macro refuses before the body is read, so a stranger learns nothing from it. */
import { Elysia } from 'elysia'
import { AppError } from '../core/errors.ts'
import { isUsableFrom, type KeyRestrictions, type Principal } from '../core/principal.ts'
import type { Scope } from '../core/scope.ts'
import { type BodyLimits, readJson } from './body.ts'
import { type Visit, visit } from './visit.ts'

/**
 * - `user`: a JWT or an API key
 * - `enrolling`: a JWT, also of a user who has yet to enrol in two-factor authentication
 * - `session`: a JWT; a key can't manage credentials, or one leaked key would make more of them
 * - `admin`: a JWT or an API key of an administrator
 */
export type Access = 'user' | 'enrolling' | 'session' | 'admin'

/** What a route asks of whoever calls it. */
export type Rights = {
  access: Access
  /** What a key with scopes needs: null for what every key may do. Where none is named, such keys are refused. */
  scope?: Scope | null
  /** Whether it keeps to the subscription that a key is bound to. Where it doesn't, such keys are refused. */
  confined?: boolean
}

/** Made once: most of what an error costs is its stack. */
export const notAuthenticated = new AppError('not_authenticated')

type Context = { request: Request; visit: Visit }

/**
 * Gives routes the `auth` macro, which asks who calls and gives the handler a `principal`.
 *
 * @param bodyLimits of requests
 */
export function createGuard(bodyLimits: BodyLimits) {
  return new Elysia({ name: 'guard' })
    .use(visit)
    .decorate('bodyLimits', bodyLimits)
    .macro({
      auth(rights: Rights) {
        return {
          transform(context: Context) {
            authorize(context.visit, rights)
          },
          resolve({ visit }: Context) {
            return { principal: authorize(visit, rights) }
          },
        }
      },
    })
}

/** Reads the body of a route that takes one. Elysia parses before it transforms, so it asks first who calls. */
export function bodyOf(rights: Rights | 'anyone') {
  return ({ request, visit, bodyLimits }: Context & { bodyLimits: BodyLimits }) => {
    if (rights !== 'anyone') authorize(visit, rights)
    return readJson(request, bodyLimits)
  }
}

export type Guard = ReturnType<typeof createGuard>

/** @throws AppError `not_authenticated`, `ip_not_allowed`, `forbidden`, `scope_missing`, `two_factor_enrolment_required` */
function authorize({ principal, client }: Visit, rights: Rights): Principal {
  if (!principal) throw notAuthenticated
  const { access } = rights
  if (!isUsableFrom(principal.credential, client.address)) {
    throw new AppError('ip_not_allowed', `This API key may not be used from ${client.address}`)
  }
  const needsSession = access === 'session' || access === 'enrolling'
  if (needsSession && principal.credential.kind !== 'jwt') {
    throw new AppError('forbidden', 'An API key can not do this; log in and use the JWT', {
      'www-authenticate': 'Bearer realm="ncp", error="insufficient_scope"',
    })
  }
  if (principal.mustEnrol && access !== 'enrolling') throw new AppError('two_factor_enrolment_required')
  if (access === 'admin' && principal.role !== 'admin') {
    throw new AppError('forbidden', 'Only an administrator may do this')
  }
  if (principal.credential.kind === 'api_key' && principal.credential.restrictions) {
    requireWithin(principal.credential.restrictions, rights)
  }
  return principal
}

/** @throws AppError `scope_missing`, `forbidden` */
function requireWithin({ scopes, subscriptionId }: KeyRestrictions, { scope, confined }: Rights): void {
  if (scopes && scope !== null && (scope === undefined || !scopes.has(scope))) {
    const missing =
      scope === undefined ? 'This needs an API key without scopes' : `This API key lacks the scope ${scope}`
    const named = scope === undefined ? '' : `, scope="${scope}"`
    throw new AppError('scope_missing', missing, {
      'www-authenticate': `Bearer realm="ncp", error="insufficient_scope"${named}`,
    })
  }
  if (subscriptionId !== undefined && !confined) {
    throw new AppError('forbidden', `This API key is bound to subscription ${subscriptionId}, and this goes beyond it`)
  }
}
