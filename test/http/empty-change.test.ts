/** A change of nothing: the resource as it is, no new time, no audit entry; refused where any other change would be. */
import { beforeAll, expect, test } from 'bun:test'
import { operationsOf } from '../harness/operations.ts'
import { usePanel } from '../harness/panel.ts'

/** By the operation that changes it: where a resource is, and who may. */
let resources: Record<string, [path: string, as: string]>
let siteId: number
const panel = await usePanel()
const ada = await panel.customer()
beforeAll(async () => {
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

/** Of each resource, all that can be changed of it; of settings everything can. */
const CHANGEABLE: Record<string, string[]> = {
  changeApiKey: ['name', 'expires_at'],
  changeSite: ['domain', 'aliases', 'kind', 'php_version', 'php_settings', 'no_php_in', 'spa', 'public_dir', 'enabled'],
  changeSubscription: ['is_default'],
  changeAnySubscription: [
    'user_id',
    'name',
    'status',
    'max_sites',
    'php_workers',
    'php_memory_mb',
    'php_seconds',
    'php_upload_mb',
    'is_default',
  ],
  changeUser: ['name', 'role', 'status'],
}

test('with the current values leaves no trace either, whatever the resource', async () => {
  const before = await entries()
  for (const [id, [path, as]] of Object.entries(resources)) {
    const { data } = await panel.get<Record<string, unknown>>(path, as)
    const same = Object.fromEntries((CHANGEABLE[id] ?? Object.keys(data)).map((name) => [name, data[name]]))
    expect([id, Object.values(same).every((value) => value !== undefined)]).toEqual([id, true])
    const answer = await panel.patch(path, as, same)
    expect([id, answer.status, answer.data]).toEqual([id, 200, data])
    expect([id, (await panel.get(path, as)).data]).toEqual([id, data])
    expect([id, await entries()]).toEqual([id, before])
  }
})

test('of names that are only spelled differently leaves no trace', async () => {
  const before = await entries()
  const [path, as] = resources.changeSite ?? ['', '']
  const answer = await panel.patch(path, as, { domain: 'ADA.Example' })
  expect(answer.status).toBe(200)
  expect(await entries()).toEqual(before)
})

test('with some new values is recorded as those values only', async () => {
  const [path, as] = resources.changeSite ?? ['', '']
  const aliases = ['a.ada.example', 'b.ada.example']
  await panel.patch(path, as, { domain: 'ada.example', aliases, kind: 'static' })
  expect((await entries())[0]).toMatchObject({ action: 'site.change', details: { aliases_added: aliases } })
  await panel.patch(path, as, { aliases: ['b.ada.example', 'c.ada.example'], enabled: true })
  expect((await entries())[0]).toMatchObject({
    details: { aliases_added: ['c.ada.example'], aliases_removed: ['a.ada.example'] },
  })
  await panel.patch(path, as, { aliases: ['c.ada.example', 'b.ada.example'] })
  expect((await entries())[0]).toMatchObject({ details: { aliases_reordered: true } })
  await panel.patch(path, as, { aliases: [] })
})

test('an entry is short, however much was changed, and says how much it leaves out', async () => {
  const [path, as] = resources.changeSite ?? ['', '']
  const aliases = Array.from({ length: 100 }, (_, i) => `a${i}.${'x'.repeat(60)}.${'y'.repeat(60)}.ada.example`)
  expect((await panel.patch(path, as, { aliases })).status).toBe(200)
  const [entry] = await entries()
  expect(JSON.stringify(entry).length).toBeLessThan(1200)
  const { aliases_added: told, aliases_added_left_out: leftOut } = (entry as { details: Record<string, unknown> })
    .details
  expect((told as string[]).length + Number(leftOut)).toBe(100)
  await panel.patch(path, as, { aliases: [] })
})

test('is tested for every resource that can be changed', async () => {
  const patches = (await operationsOf(panel)).filter(({ method }) => method === 'PATCH')
  expect(Object.keys(resources).sort()).toEqual(patches.map(({ id }) => id).sort())
})

test('with a stale If-Match is refused', async () => {
  for (const [id, [path, as]] of Object.entries(resources)) {
    const send = (etag: string) => panel.send('PATCH', path, { as, body: {}, headers: { 'if-match': etag } })
    expect([id, (await send('"other"')).status]).toEqual([id, 412])
    const etag = (await panel.get(path, as)).headers.get('etag') ?? ''
    const answer = await send(etag)
    expect([id, answer.status, answer.headers.get('etag')]).toEqual([id, 200, etag])
  }
})

test('without a credential, by a stranger, or in a suspended subscription is refused like any other', async () => {
  const [path] = resources.changeSite ?? []
  const [subscription, admin] = resources.changeAnySubscription ?? []
  if (!path || !subscription || !admin) throw new Error('no such resource')
  const stranger = await panel.customer()
  expect((await panel.send('PATCH', path, { body: {} })).status).toBe(401)
  expect((await panel.patch(path, stranger.token, {})).status).toBe(403)
  await panel.patch(subscription, admin, { status: 'suspended' })
  expect((await panel.patch(path, ada.token, {})).status).toBe(409)
})
