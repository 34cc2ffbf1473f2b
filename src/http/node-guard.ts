/** Keeps nodes to the routes for nodes, and everybody else away from them. */
import { Elysia } from 'elysia'
import { AppError } from '../core/errors.ts'
import type { NodePrincipal } from '../core/principal.ts'
import { notAuthenticated } from './guard.ts'
import { type RequestContext, requestContext } from './request-context.ts'
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

/** Gives routes the `node` macro, which hands the calling node to the handler as `node`. */
export function createNodeGuard() {
  return new Elysia({ name: 'node-guard' }).use(requestContext).macro({
    node(_: true) {
      return {
        // Before validation: a caller that is no node learns nothing from it.
        transform({ context }: { context: RequestContext }) {
          requireNode(context)
        },
        resolve: ({ context }: { context: RequestContext }): { node: NodePrincipal } => ({
          node: requireNode(context),
        }),
      }
    },
  })
}

/** @throws AppError `not_authenticated`, `forbidden` for a user */
function requireNode({ node, principal }: RequestContext): NodePrincipal {
  if (node) return node
  throw principal ? onlyForNodes : notAuthenticated
}
