/** `/admin/nodes`: the machines that serve sites; `/node/token`: what such a machine does with its own token. */
import { Elysia, t } from 'elysia'
import { formatTimestamp } from '../../../core/timestamp.ts'
import { representPage, sendPage, sendResource } from '../../../http/conditional.ts'
import { envelope } from '../../../http/envelope.ts'
import type { Guard } from '../../../http/guard.ts'
import type { NodeGuard } from '../../../http/node-guard.ts'
import { type Call, type NodeCall, nodeOperation, operation } from '../../../http/operation.ts'
import { pageOfQuery, pageQuery } from '../../../http/page.ts'
import { closed, idParams, toInteger } from '../../../http/schema.ts'
import { NodeModel, NodeTokenModel, toNode } from './model.ts'
import type { Nodes } from './nodes.ts'

const tag = 'Nodes'

const operations = {
  listNodes: operation('admin', {
    id: 'listNodes',
    summary: 'List the nodes',
    description: 'A node is another machine that serves sites. The command `ncp node add` makes one.',
    scope: 'nodes:read',
    tag,
    query: closed(pageQuery),
    paged: true,
    data: t.Array(NodeModel),
  }),
  getNode: operation('admin', {
    id: 'getNode',
    summary: 'Show a node',
    scope: 'nodes:read',
    tag,
    params: idParams('Node id'),
    conditional: true,
    data: NodeModel,
    errors: ['not_found'],
  }),
  rotateNodeToken: nodeOperation({
    id: 'rotateNodeToken',
    summary: 'Replace the token of the calling node',
    description:
      'The answer is the only time the new token is shown. The token that was sent works for another hour: a node that lost the answer sends it again.',
    tag,
    data: NodeTokenModel,
    message: 'Token replaced',
  }),
}

type Options = { guard: Guard; nodes: Nodes }

export function adminNodeRoutes({ guard, nodes }: Options) {
  async function listNodes({ query, context }: Call<typeof operations.listNodes>) {
    return sendPage(context, query, representPage(await nodes.list(pageOfQuery(query)), toNode))
  }

  const getNode = async ({ params, context }: Call<typeof operations.getNode>) =>
    sendResource(context, toNode(await nodes.get(toInteger(params.id))))

  return new Elysia({ prefix: '/admin/nodes' })
    .use(guard)
    .get('', listNodes, operations.listNodes)
    .get('/:id', getNode, operations.getNode)
}

export function nodeTokenRoutes({ nodeGuard, nodes }: { nodeGuard: NodeGuard; nodes: Nodes }) {
  async function rotateNodeToken({ node }: NodeCall<typeof operations.rotateNodeToken>) {
    const { token, previousValidUntil } = await nodes.rotate(node)
    const data = { token, previous_valid_until: formatTimestamp(previousValidUntil) }
    return envelope(data, operations.rotateNodeToken.message)
  }

  return new Elysia({ prefix: '/node' }).use(nodeGuard).post('/token', rotateNodeToken, operations.rotateNodeToken)
}
