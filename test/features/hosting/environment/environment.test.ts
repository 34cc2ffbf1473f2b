/** `/sites/:id/environment`. */
import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { MAX_VALUE_BYTES, type Variable } from '../../../../src/node/environment.ts'
import { createTestLog } from '../../../harness/log.ts'
import { addNode } from '../../../harness/node-client.ts'
import { usePanel } from '../../../harness/panel.ts'

type Shown = { name: string; fingerprint: string; updated_at: string }
type Place = { token: string; subscription: number; site: number }
type Wanted = { name: string; value: string | null }

const log = createTestLog()
const panel = await usePanel({}, log)
const admin = await panel.admin()
const node = await addNode(panel)
let names = 0

async function addSite(token: string, kind = 'php'): Promise<number> {
  const { data } = await panel.post<{ id: number }>('/sites', token, { domain: `env-${++names}.example`, kind })
  return data.id
}

async function newSite(kind?: string): Promise<Place> {
  const { id, token } = await panel.customer()
  const subscription = await panel.subscription(id)
  return { token, subscription, site: await addSite(token, kind) }
}

/** Before there is a node. */
const embedded = await newSite('static')
await node.connect({}, ['8.2'])
const ada = await newSite()

const pathOf = ({ site }: Pick<Place, 'site'>) => `/sites/${site}/environment`
const put = (place: Place, variables: unknown, as: string | undefined = place.token, headers = {}) =>
  panel.send<{ variables: Shown[] }>('PUT', pathOf(place), { as, body: { variables }, headers })
const shown = async (place: Place) =>
  (await panel.get<{ variables: Shown[] }>(pathOf(place), place.token)).data.variables
const wiped = (place: Place) => panel.delete(pathOf(place), place.token)

const siteOf = async ({ site, token }: Place) => (await panel.get<{ generation: number }>(`/sites/${site}`, token)).data
async function told({ subscription, site }: Place, nodeId: number | null = node.id): Promise<Variable[] | undefined> {
  const { subscriptions } = await panel.services.readDesired(nodeId, 0)
  const found = subscriptions.find(({ id }) => id === subscription)?.sites.find(({ id }) => id === site)
  return found?.environment
}
const one = (name: string, value: string | null = 'x'): Wanted => ({ name, value })

describe('variables', () => {
  test('are stored, shown without their values, told to the node, replaced and deleted', async () => {
    const secret = 'correct horse\n"battery"; staple $PATH é'
    const first = await put(ada, [one('DB_PASSWORD', secret), one('APP_ENV', 'production')])
    expect([first.status, first.message]).toEqual([200, 'Environment changed'])
    expect(first.data.variables).toEqual([
      { name: 'APP_ENV', fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/), updated_at: expect.any(String) },
      { name: 'DB_PASSWORD', fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/), updated_at: expect.any(String) },
    ])
    expect(await shown(ada)).toEqual(first.data.variables)
    expect(await told(ada)).toEqual([one('APP_ENV', 'production'), one('DB_PASSWORD', secret)] as Variable[])
    expect((await put(ada, [one('ONLY', '')])).status).toBe(200)
    expect(await told(ada)).toEqual([one('ONLY', '')] as Variable[])
    expect((await wiped(ada)).status).toBe(200)
    expect([await shown(ada), await told(ada)]).toEqual([[], undefined])
  })

  test('keep a value that is null, and one that is the same keeps its time and restarts nothing', async () => {
    await put(ada, [one('A', 'secret'), one('B', '1')])
    const [before] = await shown(ada)
    const { generation } = await siteOf(ada)
    panel.clock.advance(60)
    expect((await put(ada, [one('A', 'secret'), one('B', null)])).status).toBe(200)
    expect((await siteOf(ada)).generation).toBe(generation)
    await put(ada, [one('A', null), one('B', '2')])
    expect((await siteOf(ada)).generation).toBe(generation + 1)
    const [a, b] = await shown(ada)
    expect([a, b?.updated_at === before?.updated_at]).toEqual([before, false])
    expect(await told(ada)).toEqual([one('A', 'secret'), one('B', '2')] as Variable[])
    const lost = await put(ada, [one('A', null), one('NEVER', null)])
    expect([lost.status, lost.message]).toEqual([422, 'variables.1.value: is null, and NEVER has no value to keep'])
    expect(await shown(ada)).toHaveLength(2)
  })

  test('are changed only as they were seen, if the client says so', async () => {
    await put(ada, [one('A', '1')])
    const response = await fetch(`${panel.origin}/api/v1${pathOf(ada)}`, {
      headers: { authorization: `Bearer ${ada.token}` },
    })
    const match = { 'if-match': response.headers.get('etag') ?? '' }
    expect((await put(ada, [one('A', '2')], ada.token, match)).status).toBe(200)
    expect((await put(ada, [one('A', '3')], ada.token, match)).status).toBe(412)
    expect((await panel.send('DELETE', pathOf(ada), { as: ada.token, headers: match })).status).toBe(412)
    expect(await told(ada)).toEqual([one('A', '2')] as Variable[])
  })

  test('have a fingerprint that is another for another site, name or value', async () => {
    const bob = await newSite()
    const fingerprints = async (place: Place) => (await shown(place)).map(({ fingerprint }) => fingerprint)
    await put(bob, [one('A', 'same'), one('B', 'same'), one('C', 'other')])
    await put(ada, [one('A', 'same')])
    expect(new Set([...(await fingerprints(bob)), ...(await fingerprints(ada))]).size).toBe(4)
  })

  const most = 'x'.repeat(MAX_VALUE_BYTES)
  test.each<[string, unknown, number]>([
    ['in lower case', [one('lower')], 422],
    ['that begins with a digit', [one('1A')], 422],
    ['without a name', [one('')], 422],
    ['with a hyphen', [one('A-B')], 422],
    ['with a bracket', [one('A]')], 422],
    ['with an umlaut', [one('Ä')], 422],
    ['with a line break in its name', [one('A\n')], 422],
    ['with a long name', [one('A'.repeat(65))], 422],
    ...['LD_PRELOAD', 'LD_', 'PHP_INI_SCAN_DIR', 'PATH', 'HOME', 'USER', 'FPM_SOCKETS'].map(
      (name): [string, unknown, number] => [`that is called ${name}`, [one(name)], 422],
    ),
    ['with NUL', [one('A', 'a\0b')], 422],
    ['with half a character', [one('A', '\ud800')], 422],
    ['with a long value', [one('A', `${most}x`)], 422],
    ['with a value that is long in bytes', [one('A', 'é'.repeat(MAX_VALUE_BYTES / 2 + 1))], 422],
    ['that is there twice', [one('A'), one('A')], 422],
    ['of more than 64 KiB in all', Array.from({ length: 17 }, (_, i) => one(`A${i}`, most)), 422],
    ['that is a number', [{ name: 'A', value: 7 }], 400],
    ['without a value', [{ name: 'A' }], 400],
    ['with another field', [{ ...one('A'), secret: true }], 422],
    ['in no list', { A: 'x' }, 400],
    ['in nothing', undefined, 400],
  ])('one %s is refused', async (_, variables, status) => {
    await put(ada, [one('KEPT')])
    const answer = await put(ada, variables)
    expect(answer.status).toBe(status)
    expect(answer.message).not.toContain('xxxx')
    expect(await told(ada)).toEqual([one('KEPT')] as Variable[])
  })

  test('may have the most that is allowed, whatever JSON makes of it', async () => {
    const value = '\u0001'.repeat(MAX_VALUE_BYTES)
    const full = Array.from({ length: 15 }, (_, i) => one(`A${i}`, value))
    expect((await put(ada, full)).status).toBe(200)
    expect((await told(ada))?.[0]?.value).toBe(value)
    const many = Array.from({ length: 200 }, (_, i) => one(`A${i}`))
    expect((await put(ada, many)).status).toBe(200)
    expect((await put(ada, [...many, one('ONE_MORE')])).status).toBe(400)
    expect((await put(ada, 'x'.repeat(600_000))).status).toBe(413)
    // Beyond what Linux would start one process with.
    const carol = await newSite()
    const statuses: number[] = []
    for (let i = 0; i < 18; i++) {
      const site = i === 0 ? carol.site : await addSite(carol.token)
      statuses.push((await put({ ...carol, site }, full)).status)
    }
    expect(statuses).toEqual([...Array.from({ length: 16 }, () => 200), 409, 409])
  })

  test('are sealed in the database, and in no event, audit entry or line of the log', async () => {
    const secret = 'qX7-never-in-clear-text'
    await put(ada, [one('TOKEN', secret)])
    await put(ada, [one('TOKEN', `${secret}2`)])
    const { rows } = await panel.services.auditLog.list({ limit: 1000, afterId: 0 })
    const logged = rows.filter(({ action }) => action === 'site.environment')
    expect(JSON.parse(logged[0]?.details ?? '')).toEqual({ names: ['TOKEN'] })
    const events = await panel.get<{ kind: string; details: object }[]>(`/sites/${ada.site}/events`, ada.token)
    expect(events.data).toContainEqual(
      expect.objectContaining({ kind: 'site.changed', details: { environment: ['TOKEN'] } }),
    )
    const seen = [JSON.stringify(rows), JSON.stringify(events.data), log.text()]
    for (const text of seen) expect(text).not.toContain(secret)
    for (const name of ['ncp.db', 'ncp.db-wal']) {
      expect(await Bun.file(`${panel.data}/${name}`).text()).not.toContain(secret)
    }
  })

  test('of a site without PHP are stored, and told to nobody until it runs PHP', async () => {
    expect((await put(embedded, [one('A')])).status).toBe(200)
    expect([(await shown(embedded)).length, await told(embedded, null)]).toEqual([1, undefined])
    const plain = await newSite('static')
    const { generation } = await siteOf(plain)
    await put(plain, [one('A')])
    expect([(await siteOf(plain)).generation, await told(plain)]).toEqual([generation, undefined])
    await panel.patch(`/sites/${plain.site}`, plain.token, { kind: 'php' })
    expect(await told(plain)).toEqual([one('A')] as Variable[])
  })

  test('of a suspended subscription are shown and deleted, and not set', async () => {
    const carol = await newSite()
    await put(carol, [one('A')])
    await panel.patch(`/admin/subscriptions/${carol.subscription}`, admin, { status: 'suspended' })
    expect((await put(carol, [one('B')])).status).toBe(409)
    expect(await shown(carol)).toHaveLength(1)
    expect((await wiped(carol)).status).toBe(200)
  })

  test('go with their site', async () => {
    const carol = await newSite()
    await put(carol, [one('A')])
    await panel.delete(`/sites/${carol.site}`, carol.token)
    using database = new Database(join(panel.data, 'ncp.db'))
    const left = database.query('SELECT name FROM site_variables WHERE site_id = ?')
    expect(left.all(carol.site)).toEqual([])
  })
})

test('another customer, a key without the scope or bound elsewhere, and no credential are refused', async () => {
  const bob = await newSite()
  const elsewhere = await panel.subscription(
    (await panel.get<{ user: { id: number } }>('/auth/me', ada.token)).data.user.id,
  )
  const all = ['environment:read', 'environment:write']
  for (const [as, status] of [
    [bob.token, 403],
    [await panel.key(ada.token, { scopes: ['sites:write', 'deployments:write'] }), 403],
    [await panel.key(ada.token, { scopes: all, subscription_id: elsewhere }), 403],
    [undefined, 401],
  ] as const) {
    const own = as === undefined ? {} : { as }
    expect((await panel.send('GET', pathOf(ada), own)).status).toBe(status)
    expect((await panel.send('PUT', pathOf(ada), { ...own, body: { variables: [] } })).status).toBe(status)
    expect((await panel.send('DELETE', pathOf(ada), own)).status).toBe(status)
  }
  const reads = await panel.key(ada.token, { scopes: ['environment:read'], subscription_id: ada.subscription })
  expect((await panel.get(pathOf(ada), reads)).status).toBe(200)
  expect((await put(ada, [], reads)).status).toBe(403)
  expect((await panel.get('/sites/999999/environment', admin)).status).toBe(404)
})
