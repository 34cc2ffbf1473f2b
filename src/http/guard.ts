/** Who may call a route: the `auth` macro refuses before the body is read, so a stranger learns nothing from it. */
import { Elysia } from 'elysia'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { readJson } from './body.ts'
import { type Visit, visit } from './visit.ts'

/**
 * - `user`: a JWT or an API key
 * - `enrolling`: a JWT, also of a user who has yet to enrol in two-factor authentication
 * - `session`: a JWT; a key can't manage credentials, or one leaked key would make more of them
 * - `admin`: a JWT or an API key of an administrator
 */
export type Access = 'user' | 'enrolling' | 'session' | 'admin'

/** Made once: most of what an error costs is its stack. */
const notAuthenticated = new AppError('not_authenticated')

type Context = { request: Request; visit: Visit }

/**
 * Gives routes the `auth` macro, which asks who calls and gives the handler a `principal`.
 *
 * @param options.maxBodyBytes the cap on a request body, in bytes
 */
export function createGuard({ maxBodyBytes }: { maxBodyBytes: number }) {
  return new Elysia({ name: 'guard' })
    .use(visit)
    .decorate('maxBodyBytes', maxBodyBytes)
    .macro({
      auth(access: Access) {
        return {
          transform(context: Context) {
            authorize(context.visit, access)
          },
          resolve({ visit }: Context) {
            return { principal: authorize(visit, access) }
          },
        }
      },
    })
}

/** Reads the body of a route that takes one. Elysia parses before it transforms, so it asks first who calls. */
export function bodyOf(access: Access | 'anyone') {
  return ({ request, visit, maxBodyBytes }: Context & { maxBodyBytes: number }) => {
    if (access !== 'anyone') authorize(visit, access)
    return readJson(request, maxBodyBytes)
  }
}

export type Guard = ReturnType<typeof createGuard>

/** @throws AppError `not_authenticated`, `forbidden` */
function authorize({ principal }: Visit, access: Access): Principal {
  if (!principal) throw notAuthenticated
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
  return principal
}
