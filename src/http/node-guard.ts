/** Keeps nodes to the routes for nodes, and everybody else away from them. */
import { Elysia } from 'elysia'
import type { NodeActor } from '../core/actor.ts'
import { type Awaitable, whenKnown } from '../core/awaitable.ts'
import { AppError } from '../core/errors.ts'
import type { NodePrincipal } from '../core/principal.ts'
import { Rejection, wrongHeader } from '../core/rejection.ts'
import { readBearer } from './bearer.ts'
import { type BodyLimits, type OwnLimits, readJson } from './body.ts'
import { notAuthenticated } from './guard.ts'
import { originOf, type RequestContext, requestContext } from './request-context.ts'
import type { Route } from './route-table.ts'

const PREFIX = '/api/v1/node/'

/** Whether a bearer value claims to be a node's token. No JWT has an underscore in its first five characters. */
export const isNodeToken = (bearer: string): boolean => bearer.startsWith('ncpn_')

export const isForNodes = ({ pattern }: Route): boolean => pattern.startsWith(PREFIX)

/** Made once: most of an error's cost is its stack. */
export const notForNodes = new AppError('forbidden', 'The token of a node opens only the routes for nodes')
const onlyForNodes = new AppError('forbidden', 'Only a node may do this, with its token', {
  'www-authenticate': 'Bearer realm="ncp", error="insufficient_scope"',
})

export type NodeGuardOptions = {
  bodyLimits: BodyLimits
  /** Identifies a node without counting a use of its token. */
  recognize(bearer: string): Awaitable<NodePrincipal | Rejection>
}

type Guarded = { context: RequestContext }

export type NodeGuard = ReturnType<typeof createNodeGuard>

/** Gives routes the `node` macro, which hands the calling node to the handler as `node`. */
export function createNodeGuard(options: NodeGuardOptions) {
  return new Elysia({ name: 'node-guard' })
    .use(requestContext)
    .decorate('nodeGuard', options)
    .macro({
      node(_: true) {
        return {
          // Before validation: a caller that is no node learns nothing from it. A body was read by one only.
          transform({ context }: Guarded) {
            requireNode(context)
          },
          resolve: ({ context }: Guarded): { node: NodeActor } => ({
            node: { ...requireNode(context), kind: 'node', origin: originOf(context) },
          }),
        }
      },
    })
}

/**
 * Reads the body of a route for nodes. Elysia parses before it transforms, so this authorizes first, and again once the
 * body has arrived: it may take half a minute, and the node may have been removed by then.
 *
 * @param ownLimits undefined: those of a user's
 */
export function bodyOfNode(ownLimits: OwnLimits | undefined) {
  return ({ context, nodeGuard: { bodyLimits, recognize } }: Guarded & { nodeGuard: NodeGuardOptions }) => {
    requireNode(context)
    return readJson(context.request, { ...bodyLimits, ...ownLimits }, () => recognizeAgain(context, recognize))
  }
}

function recognizeAgain(context: RequestContext, recognize: NodeGuardOptions['recognize']): Awaitable<void> {
  const bearer = readBearer(context.request.headers.get('authorization') ?? '')
  return whenKnown(bearer === undefined ? wrongHeader : recognize(bearer), (found) => {
    context.node = found instanceof Rejection ? undefined : found
    context.rejection = found instanceof Rejection ? found : undefined
    requireNode(context)
  })
}

/** @throws AppError `not_authenticated`, `forbidden` for a user */
function requireNode({ node, principal }: RequestContext): NodePrincipal {
  if (node) return node
  throw principal ? onlyForNodes : notAuthenticated
}
