/** Default deny: nothing answers a stranger, another customer, a customer among administrators or a key beyond its rights. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { paths } from '../../page/dist/files.js'
import { createApp } from '../../src/app.ts'
import { operator } from '../../src/core/actor.ts'
import { storedRows } from '../harness/database.ts'
import { exampleBody, exampleSent, fillPath, type Operation, operationsOf } from '../harness/operations.ts'
import { type Customer, PASSWORD, usePanel } from '../harness/panel.ts'

/** All that a stranger may call. A route that is missing here must ask for a credential. */
const PUBLIC = [
  ...paths.map((path) => `GET ${path.replaceAll(/:(\w+)/g, '{$1}')}`),
  'GET /assets/{name}',
  'GET /.well-known/change-password',
  'GET /.well-known/security.txt',
  'GET /api/docs',
  'GET /api/docs/favicon.png',
  'GET /api/docs/openapi.yaml',
  'GET /api/docs/start.js',
  'GET /api/docs/swagger-ui-bundle.js',
  'GET /api/docs/swagger-ui.css',
  'GET /api/docs/',
  'GET /favicon.ico',
  'GET /livez',
  'GET /readyz',
  'POST /api/v1/auth/email/confirm',
  'POST /api/v1/auth/login',
  'POST /api/v1/auth/password-reset',
  'POST /api/v1/auth/password-reset/confirm',
]

/** All that a customer's API key may call. The rest takes a JWT, or an administrator. */
const FOR_KEYS = [
  'GET /api/v1/audit-log',
  'GET /api/v1/auth/me',
  'POST /api/v1/auth/api-keys/self/rotate',
  'GET /api/v1/events',
  'GET /api/v1/events/stream',
  'GET /api/v1/sites',
  'POST /api/v1/sites',
  'GET /api/v1/sites/{id}',
  'PATCH /api/v1/sites/{id}',
  'DELETE /api/v1/sites/{id}',
  'GET /api/v1/sites/{id}/events',
  'GET /api/v1/sites/{id}/environment',
  'PUT /api/v1/sites/{id}/environment',
  'DELETE /api/v1/sites/{id}/environment',
  'GET /api/v1/sites/{id}/logs',
  'GET /api/v1/sites/{id}/usage',
  'POST /api/v1/sites/{id}/certificate',
  'DELETE /api/v1/sites/{id}/certificate',
  'POST /api/v1/sites/{id}/certificate/retry',
  'GET /api/v1/sites/{id}/deployments',
  'POST /api/v1/sites/{id}/deployments',
  'GET /api/v1/sites/{id}/deployments/{deployment_id}',
  'POST /api/v1/sites/{id}/deployments/{deployment_id}/activate',
  'GET /api/v1/subscriptions',
  'GET /api/v1/subscriptions/{id}',
  'PATCH /api/v1/subscriptions/{id}',
  'GET /api/v1/subscriptions/{id}/ssh-keys',
  'POST /api/v1/subscriptions/{id}/ssh-keys',
  'DELETE /api/v1/subscriptions/{id}/ssh-keys/{key_id}',
]

/** Of those, what a key that is bound to sites may not call: what is of the user, or of the whole subscription. */
const NOT_FOR_KEYS_OF_SITES = [
  'GET /api/v1/audit-log',
  'POST /api/v1/sites',
  'GET /api/v1/subscriptions',
  'GET /api/v1/subscriptions/{id}',
  'PATCH /api/v1/subscriptions/{id}',
  'GET /api/v1/subscriptions/{id}/ssh-keys',
  'POST /api/v1/subscriptions/{id}/ssh-keys',
  'DELETE /api/v1/subscriptions/{id}/ssh-keys/{key_id}',
]

/** All that is left to a user who must have a second factor and has none yet. */
const FOR_ENROLLING = ['POST /api/v1/auth/logout', 'POST /api/v1/auth/2fa/setup', 'POST /api/v1/auth/2fa/enable']

/** Written in every name of Ada's, so that a glimpse of anything of hers is seen. */
const CANARY = 'canary'
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

let operations: Operation[]
let routes: { method: string; path: string }[]
let ada: Customer
let bob: Customer
/** The ids of what Ada has, by the path that leads to it. */
let adas: Record<string, number>
const panel = await usePanel()
beforeAll(async () => {
  operations = await operationsOf(panel)
  routes = createApp(panel.services, () => undefined).routes.map(({ method, path }) => ({
    method,
    path: path.replaceAll(/:(\w+)/g, '{$1}'),
  }))
  ada = await panel.customer()
  bob = await panel.customer()
  await panel.subscription(bob.id)
  const subscription = await panel.subscription(ada.id, { name: CANARY })
  const site = await panel.post<{ id: number }>('/sites', ada.token, { domain: `${CANARY}.example` })
  await panel.key(ada.token, { name: CANARY })
  const [key] = (await panel.get<{ id: number }[]>('/auth/api-keys', ada.token)).data
  const [session] = (await panel.get<{ id: number }[]>('/auth/sessions', ada.token)).data
  adas = {
    '/api/v1/auth/api-keys/{id}': key?.id ?? 0,
    '/api/v1/auth/sessions/{id}': session?.id ?? 0,
    '/api/v1/sites/{id}': site.data.id,
    '/api/v1/subscriptions/{id}': subscription,
    '/api/v1/admin/users/{id}': ada.id,
    '/api/v1/admin/subscriptions/{id}': subscription,
    // Nodes are nobody's.
    '/api/v1/node/archives/{sha256}': 0,
    '/api/v1/admin/nodes/{id}': (await panel.services.nodes.add(operator, 'web-1')).node.id,
  }
})

const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`
const isOfAdministrators = ({ path }: { path: string }) => path.startsWith('/api/v1/admin/')
const isForNodes = ({ path }: { path: string }) => path.startsWith('/api/v1/node/')
const send = (operation: Operation, as: string | undefined, id: number | string = 1, query = '') => {
  return panel.send(operation.method, fillPath(operation.path, id) + query, {
    ...(as !== undefined && { as }),
    ...exampleSent(operation),
  })
}

/** The id of what Ada has at a path, or under it. */
function idOfAdas(path: string): number {
  const prefix = Object.keys(adas).find((prefix) => path === prefix || path.startsWith(`${prefix}/`))
  if (!prefix) throw new Error(`${path}: say in this test what Ada has there`)
  return adas[prefix] ?? 0
}

test('the lists in this test name existing routes', () => {
  const known = routes.map(nameOf)
  expect(
    [...PUBLIC, ...FOR_KEYS, ...NOT_FOR_KEYS_OF_SITES, ...FOR_ENROLLING].filter((name) => !known.includes(name)),
  ).toEqual([])
  expect(operations.length).toBeGreaterThan(30)
})

/**
 * @see CVE-2024-51378, CVE-2024-51567, CVE-2024-51568: CyberPanel asked for a login on some methods and routes only
 * @see GHSA-85cf-gj29-f555, CVE-2023-39965: 1Panel let any user download through overlooked routes
 */
describe('without a credential', () => {
  test('exactly the public routes are documented as open', () => {
    const open = operations.filter(({ isOpen }) => isOpen).map(nameOf)
    const files = /^GET (?!\/api\/v1\/|\/livez$|\/readyz$)/
    expect(open.sort()).toEqual(PUBLIC.filter((name) => !files.test(name)).sort())
  })

  test('every route and every method of it is 401 or 405, unless it is public', async () => {
    for (const path of new Set(routes.map(({ path }) => path))) {
      const taken = routes.filter((route) => route.path === path).map(({ method }) => method)
      if (taken.includes('GET')) taken.push('HEAD')
      for (const method of METHODS) {
        const name = `${method === 'HEAD' ? 'GET' : method} ${path}`
        if (PUBLIC.includes(name)) continue
        const response = await fetch(`${panel.origin}${fillPath(path, 1)}`, { method, redirect: 'manual' })
        const isEndless = response.headers.get('content-type')?.startsWith('text/event-stream')
        await (isEndless ? response.body?.cancel() : response.arrayBuffer())
        expect([method, path, response.status]).toEqual([method, path, taken.includes(method) ? 401 : 405])
        if (response.status === 405) expect(response.headers.get('allow')?.split(', ')).toEqual(taken.sort())
      }
    }
  })

  test('a valid body and an existing id make no difference', async () => {
    const before = storedRows(panel)
    for (const operation of operations.filter(({ isOpen }) => !isOpen)) {
      const id = operation.path.includes('{') ? idOfAdas(operation.path) : 1
      for (const as of [undefined, `ncp_${'0'.repeat(64)}`, `${ada.token}x`, 'a.b.c']) {
        const answer = await send(operation, as, id)
        expect([nameOf(operation), answer.status, answer.message]).toEqual([
          nameOf(operation),
          401,
          'Authentication required',
        ])
      }
    }
    expect(storedRows(panel)).toEqual(before)
  })

  test('an unknown path is 404 and reveals nothing else', async () => {
    for (const path of [
      '/index.html',
      '/api',
      '/api/v1',
      '/metrics',
      '/debug',
      '/openapi.json',
      '/api/v1/admin',
      '/.env',
      '/.git/config',
    ]) {
      const response = await fetch(`${panel.origin}${path}`)
      expect([path, response.status]).toEqual([path, 404])
      expect(await response.json()).toEqual({ data: null, error: 'not found', message: 'No such path; see /api/docs' })
    }
  })
})

/**
 * @see CyberPanel#1828: the parent's owner was checked, the child's was not
 * @see GHSA-6888-7f3w-92jx: Pterodactyl acted on a server without asking whose it was
 */
describe('for another customer', () => {
  test('every route that takes an id is 403 for another’s, with a key too, and changes nothing', async () => {
    const key = await panel.key(bob.token)
    const before = storedRows(panel)
    for (const operation of operations.filter(({ path }) => path.includes('{'))) {
      for (const as of [bob.token, key]) {
        const answer = await send(operation, as, idOfAdas(operation.path))
        expect([nameOf(operation), answer.status]).toEqual([nameOf(operation), 403])
        expect(JSON.stringify([answer.data, answer.message])).not.toContain(CANARY)
      }
    }
    expect(storedRows(panel)).toEqual(before)
  })

  test('every route that takes an id is 404 for an unknown one, unless it is for administrators or nodes', async () => {
    for (const operation of operations.filter(({ path }) => path.includes('{'))) {
      const answer = await send(operation, bob.token, 999_999)
      const expected = isOfAdministrators(operation) || isForNodes(operation) ? 403 : 404
      expect([nameOf(operation), answer.status]).toEqual([nameOf(operation), expected])
    }
  })

  test('every route that takes a subscription is 403 for another’s', async () => {
    const subscription = adas['/api/v1/subscriptions/{id}']
    let asked = 0
    for (const operation of operations.filter((operation) => !isOfAdministrators(operation))) {
      const inQuery = operation.parameters.some(({ name }) => name === 'subscription_id')
      const inBody = operation.body?.properties?.subscription_id !== undefined
      if (!inQuery && !inBody) continue
      const path = fillPath(operation.path, adas['/api/v1/sites/{id}'] ?? 0)
      const { subscription_id: _, ...body } = exampleBody(operation) ?? {}
      const inQueryOnly = { as: bob.token, ...exampleSent(operation), ...(operation.body && { body }) }
      const inBodyOnly = { as: bob.token, body: { ...body, subscription_id: subscription } }
      const answers = [
        ...(inQuery
          ? [await panel.send(operation.method, `${path}?subscription_id=${subscription}`, inQueryOnly)]
          : []),
        ...(inBody ? [await panel.send(operation.method, path, inBodyOnly)] : []),
      ]
      for (const { status } of answers) expect([nameOf(operation), status]).toEqual([nameOf(operation), 403])
      asked += answers.length
    }
    expect(asked).toBeGreaterThan(2)
  })

  test('no list contains anything of another customer’s, at any page size', async () => {
    const lists = operations.filter(({ method, path }) => method === 'GET' && !path.includes('{'))
    for (const operation of lists) {
      const paged = operation.parameters.some(({ name }) => name === 'limit')
      for (const query of ['', ...(paged ? ['?limit=1', '?limit=1000', '?cursor=MA'] : [])]) {
        const { data, message } = await panel.get(operation.path + query, bob.token)
        const text = JSON.stringify([data, message])
        expect([nameOf(operation), query, text.includes(CANARY)]).toEqual([nameOf(operation), query, false])
        expect(text).not.toContain(ada.email)
      }
    }
    // The same lists show it to Ada, so that the test above can fail.
    const { data } = await panel.get('/sites', ada.token)
    expect(JSON.stringify(data)).toContain(CANARY)
  })
})

/** @see CVE-2025-61928, GHSA-99h5-pjcv-gr6v: better-auth skipped the check for one way of asking */
describe('for a customer', () => {
  test('every route for administrators is 403, with a JWT and with a key, and changes nothing', async () => {
    const key = await panel.key(bob.token)
    const before = storedRows(panel)
    const administrators = operations.filter(isOfAdministrators)
    expect(administrators.length).toBeGreaterThan(10)
    for (const operation of administrators) {
      const ids = operation.path.includes('{') ? [1, bob.id, idOfAdas(operation.path)] : [1]
      for (const as of [bob.token, key]) {
        for (const id of ids) {
          const answer = await send(operation, as, id)
          expect([nameOf(operation), answer.status, answer.message]).toEqual([
            nameOf(operation),
            403,
            'Only an administrator may do this',
          ])
        }
      }
    }
    expect(storedRows(panel)).toEqual(before)
  })

  test('headers of proxies and frameworks give no other identity', async () => {
    const headers = {
      'x-user-id': '1',
      'x-forwarded-user': 'admin@localhost',
      'x-original-url': '/api/v1/auth/me',
      'x-rewrite-url': '/api/v1/auth/me',
      'x-http-method-override': 'GET',
      'x-middleware-subrequest': 'middleware',
      'x-forwarded-for': '127.0.0.1',
    }
    expect((await panel.send('GET', '/admin/users', { as: bob.token, headers })).status).toBe(403)
    expect((await panel.send('GET', '/admin/users', { headers })).status).toBe(401)
  })
})

/** @see pocket-id#1334, OmniRoute#1353: a key could make and renew keys, and so outlive its own end */
describe('for an API key', () => {
  test('every route not open to keys is 403, and changes nothing', async () => {
    const key = await panel.key(ada.token, { name: CANARY })
    const before = storedRows(panel)
    for (const operation of operations.filter((operation) => !operation.isOpen)) {
      if (FOR_KEYS.includes(nameOf(operation))) continue
      const answer = await send(operation, key, operation.path.includes('{') ? idOfAdas(operation.path) : 1)
      expect([nameOf(operation), answer.status]).toEqual([nameOf(operation), 403])
      if (!isOfAdministrators(operation)) {
        expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="ncp", error="insufficient_scope"')
      }
    }
    expect(storedRows(panel)).toEqual(before)
  })

  test('bound to sites, every route about others is 403, and changes nothing, also for an administrator’s key', async () => {
    const own = await panel.post<{ id: number }>('/sites', ada.token, { domain: 'own-of-a-key.example' })
    const foreign = adas['/api/v1/sites/{id}']
    const administrator = await panel.customer('admin')
    for (const holder of [ada, administrator]) {
      const key = await panel.key(holder.token, { sites: [own.data.id] })
      const before = storedRows(panel)
      for (const operation of operations.filter(({ isOpen }) => !isOpen)) {
        const { path } = operation
        if (FOR_KEYS.includes(nameOf(operation)) && !path.includes('{')) continue
        const answer = await send(operation, key, path.includes('{') ? idOfAdas(path) : 1)
        expect([nameOf(operation), answer.status]).toEqual([nameOf(operation), 403])
        expect(JSON.stringify([answer.data, answer.message])).not.toContain(CANARY)
      }
      for (const { method, path } of operations.filter(({ method }) => method === 'GET')) {
        if (path.includes('{') || path.endsWith('/stream')) continue
        expect([path, JSON.stringify((await panel.send(method, path, { as: key })).data)]).toEqual([
          path,
          expect.not.stringContaining(CANARY),
        ])
      }
      expect(storedRows(panel)).toEqual(before)
      const page = await panel.get<{ id: number }[]>('/sites', key)
      expect(page.data.map(({ id }) => id)).toEqual([own.data.id])
      expect(foreign).not.toBe(own.data.id)
    }
  })

  test('bound to sites, exactly the routes that are not about other things are open', async () => {
    const site = idOfAdas('/api/v1/sites/{id}')
    const key = await panel.key(ada.token, { sites: [site] })
    const refused: string[] = []
    for (const name of FOR_KEYS.filter((name) => !name.startsWith('DELETE /api/v1/sites'))) {
      const operation = operations.find((operation) => nameOf(operation) === name)
      if (!operation) throw new Error(`${name} is not in the document`)
      // An id that nothing has: what is let through finds nothing, or nothing to change.
      if (operation.path.endsWith('/stream')) continue
      const { message } = await send(operation, key, operation.path.includes('{') ? 999_999 : 1)
      if (message === 'This API key is bound to sites, and this goes beyond them' || message.includes('goes beyond it'))
        refused.push(name)
    }
    expect(refused).toEqual(NOT_FOR_KEYS_OF_SITES)
  })

  test('an administrator’s key manages no credential of its user either', async () => {
    const key = await panel.key(await panel.admin())
    const sessionOnly = operations.filter(
      (operation) => !operation.isOpen && !isOfAdministrators(operation) && !FOR_KEYS.includes(nameOf(operation)),
    )
    expect(sessionOnly.length).toBeGreaterThan(8)
    for (const operation of sessionOnly) {
      expect([nameOf(operation), (await send(operation, key)).status]).toEqual([nameOf(operation), 403])
    }
  })
})

/** @see gitea#6276, directus#24586, Pterodactyl#2791: the second factor was asked for on the pages, and not by the API */
describe('for a user without the required second factor', () => {
  test('every route except those to enrol is 403, with a JWT and with a key, even for an administrator', async () => {
    const [customer, administrator] = [await panel.customer(), await panel.customer('admin')]
    const credentials = [
      customer.token,
      administrator.token,
      await panel.key(customer.token),
      await panel.key(administrator.token),
    ]
    await panel.services.settings.change(operator, { requireTwoFactor: 'everyone' })
    const before = storedRows(panel)
    for (const operation of operations.filter(({ isOpen }) => !isOpen)) {
      const id = operation.path.includes('{') ? idOfAdas(operation.path) : 1
      for (const as of credentials) {
        if (FOR_ENROLLING.includes(nameOf(operation)) && !as.startsWith('ncp_')) continue
        const answer = await send(operation, as, id)
        expect([nameOf(operation), answer.status]).toEqual([nameOf(operation), 403])
      }
    }
    expect(storedRows(panel)).toEqual(before)
    const setup = await panel.post('/auth/2fa/setup', customer.token, { password: PASSWORD })
    expect(setup.status).toBe(200)
    await panel.services.settings.change(operator, { requireTwoFactor: 'nobody' })
    for (const as of credentials) expect((await panel.get('/auth/me', as)).status).toBe(200)
  })
})

/** @see RFC 9110 §9.2.1, ASVS V3.5.3: a link, an image or a prefetch must not do anything */
test('GET and HEAD of every operation store nothing, for any caller', async () => {
  const admin = (await panel.customer('admin')).token
  const before = storedRows(panel)
  for (const { method, path } of operations.filter((operation) => operation.method === 'GET')) {
    const id = path.includes('{') ? idOfAdas(path) : 1
    for (const as of [ada.token, admin]) {
      for (const safe of [method, 'HEAD']) {
        const headers = { authorization: `Bearer ${as}` }
        const response = await fetch(panel.origin + fillPath(path, id), { method: safe, headers })
        const isEndless = response.headers.get('content-type')?.startsWith('text/event-stream')
        await (isEndless ? response.body?.cancel() : response.arrayBuffer())
        expect([safe, path, response.status < 500]).toEqual([safe, path, true])
      }
    }
  }
  expect(storedRows(panel)).toEqual(before)
})
