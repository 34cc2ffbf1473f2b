/** A change of nothing: the resource as it is, no new time, no audit entry; refused where any other change would be. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { operationsOf } from '../harness/operations.ts'
import { type Customer, type Panel, startPanel } from '../harness/panel.ts'

let panel: Panel
let ada: Customer
/** By the operation that changes it: where a resource is, and who may. */
let resources: Record<string, [path: string, as: string]>
let siteId: number
beforeAll(async () => {
  panel = await startPanel()
  ada = await panel.customer()
  const subscription = await panel.subscription(ada.id)
  siteId = (await panel.post<{ id: number }>('/sites', ada.token, { domain: 'ada.example' })).data.id
  const { data: key } = await panel.post<{ id: number }>('/auth/api-keys', ada.token, { name: 'Backup' })
  panel.clock.advance(60)
  const admin = await panel.admin()
  resources = {
    changeApiKey: [`/auth/api-keys/${key.id}`, ada.token],
    changeSite: [`/sites/${siteId}`, ada.token],
    changeSubscription: [`/subscriptions/${subscription}`, ada.token],
    changeAnySubscription: [`/admin/subscriptions/${subscription}`, admin],
    changeUser: [`/admin/users/${ada.id}`, admin],
    changeSettings: ['/admin/settings', admin],
  }
})
afterAll(() => panel.stop())

const entries = async () => (await panel.get<unknown[]>('/admin/audit-log', await panel.admin())).data

test('leaves no trace, whatever the resource', async () => {
  const before = await entries()
  for (const [id, [path, as]] of Object.entries(resources)) {
    const { data } = await panel.get(path, as)
    const answer = await panel.patch(path, as, {})
    expect([id, answer.status, answer.data]).toEqual([id, 200, data])
    expect([id, (await panel.get(path, as)).data]).toEqual([id, data])
    expect([id, await entries()]).toEqual([id, before])
  }
})

test('holds for every resource that can be changed', async () => {
  const patches = (await operationsOf(panel)).filter(({ method }) => method === 'PATCH')
  expect(Object.keys(resources).sort()).toEqual(patches.map(({ id }) => id).sort())
})

test('is made only to what its client has seen', async () => {
  for (const [id, [path, as]] of Object.entries(resources)) {
    const send = (etag: string) => panel.send('PATCH', path, { as, body: {}, headers: { 'if-match': etag } })
    expect([id, (await send('"other"')).status]).toEqual([id, 412])
    const etag = (await panel.get(path, as)).headers.get('etag') ?? ''
    const answer = await send(etag)
    expect([id, answer.status, answer.headers.get('etag')]).toEqual([id, 200, etag])
  }
})

test('is refused to nobody, to a stranger, and in a suspended subscription, like any other', async () => {
  const [path] = resources.changeSite ?? []
  const [subscription, admin] = resources.changeAnySubscription ?? []
  if (!path || !subscription || !admin) throw new Error('no such resource')
  const stranger = await panel.customer()
  expect((await panel.send('PATCH', path, { body: {} })).status).toBe(401)
  expect((await panel.patch(path, stranger.token, {})).status).toBe(403)
  await panel.patch(subscription, admin, { status: 'suspended' })
  expect((await panel.patch(path, ada.token, {})).status).toBe(409)
})
