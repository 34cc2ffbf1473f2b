/** The guard fails closed: a route that does not mention limited keys is out of their reach, and so is any future one. */
import { expect, test } from 'bun:test'
import { Elysia } from 'elysia'
import type { KeyRestrictions, Principal } from '../../src/core/principal.ts'
import { unknownCredential } from '../../src/core/rejection.ts'
import type { Rights } from '../../src/core/rights.ts'
import { createErrors } from '../../src/http/errors.ts'
import { createGuard } from '../../src/http/guard.ts'
import { handOver, noReply, routeWith } from '../../src/http/request-context.ts'
import { createTestClock } from '../harness/clock.ts'
import { noLog } from '../harness/log.ts'

/** A route that asks for these rights, called with a key that is limited so. */
async function call(rights: Rights, restrictions?: Partial<KeyRestrictions>) {
  const errors = createErrors({ log: noLog, storageLog: noLog, refused: () => {} })
  const app = new Elysia()
    .use(errors.hook)
    .use(handOver)
    .use(createGuard({ bodyLimits: { maxBytes: 0, clock: createTestClock() }, recognize: () => unknownCredential }))
    .get('/new', () => 'done', { auth: rights })
  const all = {
    scopes: undefined,
    allowsAddress: undefined,
    subscriptionId: undefined,
    siteIds: undefined,
    ...restrictions,
  }
  const principal: Principal = {
    userId: 1,
    role: 'admin',
    credential: {
      kind: 'api_key',
      keyId: 1,
      secretHash: '',
      expiresAt: null,
      ...(restrictions && { restrictions: all }),
    },
  }
  const request = new Request('http://localhost/new')
  const response = await routeWith(
    {
      requestId: '',
      startedAt: 0,
      path: '/new',
      route: undefined,
      client: { address: '203.0.113.7', group: '203.0.113.7' },
      credentialSent: true,
      version: 0,
      principal,
      node: undefined,
      rejection: undefined,
      caller: undefined,
      request,
      received: request,
      responseHeaders: new Headers(),
      reply: noReply,
    },
    app.fetch,
  )
  const text = await response.text()
  return response.ok ? text : [response.status, (JSON.parse(text) as { error: string; message: string }).message]
}

const reader = { scopes: new Set(['sites:read'] as const) }
const bound = { subscriptionId: 7 }

test('a key without limits is let through whatever the route says of limited ones', async () => {
  expect(await call({ access: 'user' })).toBe('done')
  expect(await call({ access: 'admin', scope: 'users:write' })).toBe('done')
})

test('a key with scopes is refused where no scope is named', async () => {
  expect(await call({ access: 'user' }, reader)).toEqual([403, 'This needs an API key without scopes'])
  expect(await call({ access: 'user', scope: 'sites:write' }, reader)).toEqual([
    403,
    'This API key lacks the scope sites:write',
  ])
  expect(await call({ access: 'user', scope: 'sites:read' }, reader)).toBe('done')
  expect(await call({ access: 'user', scope: null }, reader)).toBe('done')
})

test('a key bound to a subscription is refused where the route does not keep to it', async () => {
  const message = 'This API key is bound to subscription 7, and this goes beyond it'
  expect(await call({ access: 'user', scope: null }, bound)).toEqual([403, message])
  expect(await call({ access: 'user', scope: 'sites:read', keepsToSubscription: false }, bound)).toEqual([403, message])
  expect(await call({ access: 'user', scope: 'sites:read', keepsToSubscription: true }, bound)).toBe('done')
})

test('a key bound to sites is refused where the route does not keep to them, whatever it says of subscriptions', async () => {
  const ofSites = { subscriptionId: 7, siteIds: new Set([3]) }
  const message = 'This API key is bound to sites, and this goes beyond them'
  const keepsToSubscription = true
  expect(await call({ access: 'user', scope: null, keepsToSubscription }, ofSites)).toEqual([403, message])
  expect(await call({ access: 'user', scope: null, keepsToSubscription, keepsToSites: true }, ofSites)).toBe('done')
})
