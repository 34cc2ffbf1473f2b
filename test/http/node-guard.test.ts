/** A route for nodes that takes a body: who sends it is proven before a byte of it is read, and again once it is there. */
import { expect, test } from 'bun:test'
import { Elysia } from 'elysia'
import type { NodePrincipal, Principal } from '../../src/core/principal.ts'
import { unknownCredential } from '../../src/core/rejection.ts'
import { createErrors } from '../../src/http/errors.ts'
import { createNodeGuard } from '../../src/http/node-guard.ts'
import { nodeOperation } from '../../src/http/operation.ts'
import { handOver, noReply, type RequestContext, routeWith } from '../../src/http/request-context.ts'
import { closed, text } from '../../src/http/schema.ts'
import { createTestClock } from '../harness/clock.ts'
import { noLog } from '../harness/log.ts'

const node: NodePrincipal = { nodeId: 1, tokenHash: 'f'.repeat(64), validUntil: null }
const user: Principal = { userId: 1, role: 'admin', credential: { kind: 'jwt', sessionId: 1, expiresAt: 0 } }
const operation = nodeOperation({
  id: 'tell',
  summary: 'Tell',
  tag: 'Nodes',
  body: closed({ name: text({ maxLength: 10 }) }),
  data: closed({}),
})

/** @param isRevoked whether the token has stopped working when the body has arrived */
async function call(caller: Pick<Partial<RequestContext>, 'node' | 'principal'>, isRevoked = false) {
  let isRead = false
  let handled: unknown
  const errors = createErrors({ log: noLog, storageLog: noLog, refused: () => {} })
  const app = new Elysia()
    .use(errors.hook)
    .use(handOver)
    .use(
      createNodeGuard({
        bodyLimits: { maxBytes: 100, clock: createTestClock() },
        recognize: () => (isRevoked ? unknownCredential : node),
      }),
    )
    .post(
      '/tell',
      ({ body, node }) => {
        handled = [node.nodeId, body]
        return 'done'
      },
      operation,
    )
  const body = new ReadableStream(
    {
      pull(controller) {
        isRead = true
        controller.enqueue(new TextEncoder().encode('{"name": "web"}'))
        controller.close()
      },
    },
    { highWaterMark: 0 },
  )
  const request = new Request('http://localhost/tell', {
    method: 'POST',
    body,
    headers: { authorization: 'Bearer ncpn_', 'content-type': 'application/json', 'content-length': '15' },
  })
  const context: RequestContext = {
    requestId: '',
    startedAt: 0,
    path: '/tell',
    route: undefined,
    client: { address: '203.0.113.7', group: '203.0.113.7' },
    credentialSent: true,
    version: 0,
    principal: undefined,
    node: undefined,
    rejection: undefined,
    caller: undefined,
    request,
    received: request,
    responseHeaders: new Headers(),
    reply: noReply,
    ...caller,
  }
  const { status } = await routeWith(context, app.fetch)
  return { status, isRead, handled }
}

test('a node sends a body', async () => {
  expect(await call({ node })).toEqual({ status: 200, isRead: true, handled: [1, { name: 'web' }] })
})

test('no body of anybody else is read', async () => {
  expect(await call({})).toEqual({ status: 401, isRead: false, handled: undefined })
  expect(await call({ principal: user })).toEqual({ status: 403, isRead: false, handled: undefined })
})

test('a token that is revoked while the body arrives opens nothing', async () => {
  expect(await call({ node }, true)).toEqual({ status: 401, isRead: true, handled: undefined })
})
