/** Authorizes the caller of a route before its body is read, so that a refused client learns nothing from it. */
import { Elysia } from 'elysia'
import type { Caller } from '../core/actor.ts'
import { type Awaitable, whenKnown } from '../core/awaitable.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { Rejection, wrongHeader } from '../core/rejection.ts'
import { authorize, type Rights } from '../core/rights.ts'
import { readBearer } from './bearer.ts'
import { type BodyLimits, type OwnLimits, readJson } from './body.ts'
import { originOf, type RequestContext, requestContext } from './request-context.ts'

/** Made once: most of an error's cost is its stack. */
export const notAuthenticated = new AppError('not_authenticated')

/** Identifies the caller without counting a use of the credential. */
export type Recognize = (bearer: string) => Awaitable<Principal | Rejection>

export type GuardOptions = { bodyLimits: BodyLimits; recognize: Recognize }

type Guarded = { context: RequestContext }

/** Gives routes the `auth` macro, which authorizes the caller once and hands it to the handler as `caller`. */
export function createGuard(options: GuardOptions) {
  return new Elysia({ name: 'guard' })
    .use(requestContext)
    .decorate('guard', options)
    .macro({
      auth(rights: Rights) {
        return {
          // Before validation. A route with a body has already done this, before reading it.
          transform({ context }: Guarded) {
            context.caller ??= admit(context, rights)
          },
          resolve({ context }: Guarded): { caller: Caller } {
            if (!context.caller) throw notAuthenticated
            return { caller: context.caller }
          },
        }
      },
    })
}

/**
 * Reads the body of a route that takes one. Elysia parses before it transforms, so this authorizes first.
 *
 * @param ownLimits undefined: those of most routes
 */
export function bodyOf(rights: Rights | 'anyone', ownLimits?: OwnLimits) {
  return ({ context, guard: { bodyLimits: limits, recognize } }: Guarded & { guard: GuardOptions }) => {
    const bodyLimits = ownLimits ? { ...limits, ...ownLimits } : limits
    if (rights === 'anyone') return readJson(context.request, bodyLimits)
    context.caller = admit(context, rights)
    return readJson(context.request, bodyLimits, () => admitAgain(context, rights, recognize))
  }
}

export type Guard = ReturnType<typeof createGuard>

/** @throws AppError `not_authenticated`, and what `authorize` throws */
function admit(context: RequestContext, rights: Rights): Caller {
  const { principal, client } = context
  if (!principal) throw notAuthenticated
  authorize(principal, client.address, rights)
  return { ...principal, kind: 'user', origin: originOf(context), rights }
}

/**
 * A body may take half a minute to arrive, and the credential may have lost its rights by then: if so, nothing is
 * validated or hashed. The limiter and the usage times have already counted the request.
 */
function admitAgain(context: RequestContext, rights: Rights, recognize: Recognize): Awaitable<void> {
  const bearer = readBearer(context.request.headers.get('authorization') ?? '')
  return whenKnown(bearer === undefined ? wrongHeader : recognize(bearer), (found) => {
    context.principal = found instanceof Rejection ? undefined : found
    context.rejection = found instanceof Rejection ? found : undefined
    context.caller = admit(context, rights)
  })
}
