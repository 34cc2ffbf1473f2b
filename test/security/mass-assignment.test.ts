/** Mass assignment: no body sets what it was not made to set, and no body is anything but its own fields. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { storedRows } from '../harness/database.ts'
import { addNode } from '../harness/node-client.ts'
import { exampleBody, fillPath, type Operation, operationsOf } from '../harness/operations.ts'
import { type Customer, PASSWORD, usePanel } from '../harness/panel.ts'

/** What an attacker would like to set: columns, and names that other panels have taken. */
const WANTED: Record<string, unknown> = {
  id: 1,
  user_id: 1,
  userId: 1,
  owner_id: 1,
  role: 'admin',
  is_admin: true,
  status: 'active',
  email_verified: true,
  password: PASSWORD,
  password_hash: '$argon2id$v=19$m=8,t=1,p=1$AAAAAAAAAAA$AAAAAAAAAAA',
  totp_secret: 'JBSWY3DPEHPK3PXP',
  totp_enabled_at: null,
  tfa_verified: 1,
  failed_attempts: 0,
  key: `ncp_${'0'.repeat(64)}`,
  key_hash: '0'.repeat(64),
  token: 'x',
  max_sites: 0,
  is_default: true,
  document_root: '/root',
  generation: 99,
  observed_generation: 99,
  observed: 'serving',
  is_deleting: true,
  deployment_id: 1,
  current_deployment_id: 1,
  created_at: '2020-01-01T00:00:00Z',
  constructor: { prototype: { role: 'admin' } },
}

let operations: Operation[]
let admin: string
let ada: Customer
let node: string
const panel = await usePanel()
beforeAll(async () => {
  operations = (await operationsOf(panel)).filter(({ body }) => body !== undefined)
  admin = (await panel.customer('admin')).token
  ada = await panel.customer()
  await panel.subscription(ada.id)
  node = (await addNode(panel)).token
})

function callerOf({ path }: Operation): string {
  if (path.startsWith('/api/v1/node/')) return node
  return path.startsWith('/api/v1/admin/') ? admin : ada.token
}

/**
 * @see GHSA-24vc-w334-95wm, CVE-2018-20301, auto-author#244: `role: admin` in one's own profile
 * @see CVE-2025-61928, GHSA-99h5-pjcv-gr6v: `userId` in the body made a key for another user
 */
test('a field that an operation does not have is refused by every operation, and nothing is stored', async () => {
  const before = storedRows(panel)
  for (const operation of operations) {
    const known = Object.keys(operation.body?.properties ?? {})
    const as = callerOf(operation)
    for (const [name, value] of Object.entries(WANTED)) {
      if (known.includes(name)) continue
      const answer = await panel.send(operation.method, fillPath(operation.path, ada.id), {
        as,
        body: { ...exampleBody(operation), [name]: value },
      })
      expect([operation.id, answer.status, answer.message]).toEqual([
        operation.id,
        422,
        `${name}: is not a known field`,
      ])
    }
  }
  expect(storedRows(panel)).toEqual(before)
})

/** @see CyberPanel#1811: an administrator's edit with a blank password left an account without one */
test('an administrator cannot set a password, least of all a blank one', async () => {
  for (const password of ['', null, 'a long enough one']) {
    const answer = await panel.patch(`/admin/users/${ada.id}`, admin, { password })
    expect([answer.status, answer.message]).toEqual([422, 'password: is not a known field'])
  }
  expect((await panel.post('/auth/login', undefined, { email: ada.email, password: '' })).status).toBe(401)
  expect((await panel.post('/auth/login', undefined, { email: ada.email, password: PASSWORD })).status).toBe(200)
})

/** @see CVE-2025-66456, elysia#1848: merging a body into an object gave every object its `__proto__` */
describe('a polluted prototype', () => {
  const bodies = [
    '{"name":"a","__proto__":{"role":"admin","status":"active"}}',
    '{"__proto__":{"name":"a"}}',
    '{"name":"a","constructor":{"prototype":{"role":"admin"}}}',
    '{"name":"a","prototype":{"role":"admin"}}',
    '[{"__proto__":{"role":"admin"}}]',
  ]

  test('comes from no body, query or header', async () => {
    for (const rawBody of bodies) {
      for (const { method, path } of operations) {
        const answer = await panel.send(method, fillPath(path, ada.id), { as: admin, rawBody })
        expect([path, answer.status < 500, answer.status >= 400]).toEqual([path, true, true])
      }
    }
    for (const query of ['__proto__[role]=admin', '__proto__=1', 'constructor[prototype][role]=admin']) {
      expect((await panel.get(`/sites?${query}`, ada.token)).status).toBe(422)
    }
    expect(({} as Record<string, unknown>).role).toBeUndefined()
    expect(Object.keys(Object.prototype)).toEqual([])
  })

  test('would show in a new customer, who stays one', async () => {
    const carl = await panel.customer()
    const { data } = await panel.get<{ user: { role: string } }>('/auth/me', carl.token)
    expect(data.user.role).toBe('customer')
    expect((await panel.get('/admin/users', carl.token)).status).toBe(403)
  })
})

/** @see CVE-2023-7028: GitLab took a list of addresses where one was meant, and mailed to all of them */
test('no operation takes a list or an object where it takes a string or a number', async () => {
  const before = storedRows(panel)
  for (const operation of operations) {
    const as = operation.path.startsWith('/api/v1/admin/') ? admin : ada.token
    for (const [name, { type }] of Object.entries(operation.body?.properties ?? {})) {
      if (type !== 'string' && type !== 'integer' && type !== 'boolean') continue
      for (const value of [[exampleBody(operation)?.[name]], { $ne: 1 }, [], {}]) {
        const body = { ...exampleBody(operation), [name]: value }
        const answer = await panel.send(operation.method, fillPath(operation.path, ada.id), { as, body })
        expect([operation.id, name, answer.status]).toEqual([operation.id, name, 400])
      }
    }
  }
  expect(storedRows(panel)).toEqual(before)
})
