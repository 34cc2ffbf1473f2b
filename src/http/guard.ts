/** Who may call a route: the `auth` macro refuses before the body is read, so a stranger learns nothing from it. */
import { Elysia } from 'elysia'
import { type Awaitable, whenKnown } from '../core/awaitable.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { Rejection, wrongHeader } from '../core/rejection.ts'
import { authorize, type Rights } from '../core/rights.ts'
import { readBearer } from './bearer.ts'
import { type BodyLimits, readJson } from './body.ts'
import { type Visit, visit } from './visit.ts'

/** Made once: most of what an error costs is its stack. */
export const notAuthenticated = new AppError('not_authenticated')

/** Whose credential this is, without counting a use of it. */
export type Recognize = (bearer: string) => Awaitable<Principal | Rejection>

export type GuardOptions = { bodyLimits: BodyLimits; recognize: Recognize }

type Context = { request: Request; visit: Visit }

/** Gives routes the `auth` macro, which asks who calls and gives the handler a `principal`. */
export function createGuard(options: GuardOptions) {
  return new Elysia({ name: 'guard' })
    .use(visit)
    .decorate('guard', options)
    .macro({
      auth(rights: Rights) {
        return {
          transform(context: Context) {
            admit(context.visit, rights)
          },
          resolve({ visit }: Context) {
            return { principal: admit(visit, rights) }
          },
        }
      },
    })
}

/** Reads the body of a route that takes one. Elysia parses before it transforms, so it asks first who calls. */
export function bodyOf(rights: Rights | 'anyone') {
  return ({ request, visit, guard: { bodyLimits, recognize } }: Context & { guard: GuardOptions }) => {
    if (rights === 'anyone') return readJson(request, bodyLimits)
    admit(visit, rights)
    return readJson(request, bodyLimits, () => admitAgain(visit, rights, recognize))
  }
}

export type Guard = ReturnType<typeof createGuard>

/** @throws AppError `not_authenticated`, and what `authorize` throws */
function admit(visit: Visit, rights: Rights): Principal {
  const { principal, client } = visit
  if (!principal) throw notAuthenticated
  authorize(principal, client.address, rights)
  visit.rights = rights
  return principal
}

/**
 * A body may take half a minute to arrive, and the credential may be worth less by then: nothing is validated or hashed
 * for it. The limiter and the times of use have counted the request already.
 */
function admitAgain(visit: Visit, rights: Rights, recognize: Recognize): Awaitable<Principal> {
  const bearer = readBearer(visit.request.headers.get('authorization') ?? '')
  return whenKnown(bearer === undefined ? wrongHeader : recognize(bearer), (found) => {
    visit.principal = found instanceof Rejection ? undefined : found
    visit.rejection = found instanceof Rejection ? found : undefined
    return admit(visit, rights)
  })
}
