/** PHP of sites over the API: what a site sets, what its subscription allows, and what its node is told. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { assert, asyncProperty, constantFrom, oneof, string } from 'fast-check'
import { operator } from '../../../../src/core/actor.ts'
import { DEFAULT_PHP_LIMITS, PHP_DIRECTIVES, PHP_LIMITS } from '../../../../src/node/php.ts'
import { type Customer, usePanel } from '../../../harness/panel.ts'

type Site = {
  id: number
  kind: string
  php_version: string | null
  php_settings: object
  no_php_in: string[]
  generation: number
}
type Limits = { php_workers: number; php_memory_mb: number; php_seconds: number; php_upload_mb: number }

const panel = await usePanel()
const { nodes, nodeCredentials, takeSelfReport, writeAsNode, readDesired } = panel.services
const VERSIONS = ['8.4', '8.2']
let admin: string
let ada: Customer
let nodeId: number
let subscriptionId: number
let count = 0

beforeAll(async () => {
  admin = await panel.admin()
  ada = await panel.customer()
  const { node, token } = await nodes.add(operator, 'web-1')
  nodeId = node.id
  const found = await nodeCredentials.recognize(token)
  if (!('nodeId' in found)) throw new Error('the token is not valid')
  const origin = { address: '203.0.113.7', group: '203.0.113.7', userAgent: '', requestId: '' }
  await writeAsNode({ ...found, kind: 'node', origin }, (tx, { nodeId }) =>
    takeSelfReport(tx, nodeId, {
      status: { held: null, orphans: [], highestSubscriptionId: 0 },
      description: { version: '1.2.3', phpVersions: VERSIONS, time: panel.clock.now() },
    }),
  )
  subscriptionId = await panel.subscription(ada.id)
})

const create = (options: object = {}, as = ada.token) =>
  panel.post<Site>('/sites', as, {
    domain: `php-${++count}.example`,
    subscription_id: subscriptionId,
    kind: 'php',
    ...options,
  })
const change = (id: number, changes: object, as = ada.token) => panel.patch<Site>(`/sites/${id}`, as, changes)
const told = async () => (await readDesired(nodeId, 0)).subscriptions.find(({ id }) => id === subscriptionId)
const toldOf = async (siteId: number) => (await told())?.sites.find(({ id }) => id === siteId)

/** Something that each directive takes. */
const ALL = Object.fromEntries(
  Object.entries(PHP_DIRECTIVES).map(([name, directive]) => {
    if (directive.type === 'flag') return [name, true]
    if (directive.type === 'choice') return [name, directive.values[0]]
    return [name, directive.example]
  }),
)

describe('a PHP site', () => {
  test('sets nothing unless it says so, and gets the newest version', async () => {
    const { status, data } = await create()
    expect([status, data.php_version, data.php_settings, data.no_php_in]).toEqual([201, '8.4', {}, []])
    expect(await toldOf(data.id)).toMatchObject({
      kind: 'php',
      phpVersion: '8.4',
      php: { settings: [], noPhpIn: [] },
    })
  })

  test('sets every directive of the list, and its node is told', async () => {
    const { status, data } = await create({ php_settings: ALL, no_php_in: ['wp-content/uploads', 'files'] })
    expect([status, data.php_settings, data.no_php_in]).toEqual([201, ALL, ['wp-content/uploads', 'files']])
    const { php } = (await toldOf(data.id)) ?? {}
    expect(Object.fromEntries(php?.settings.map(({ name, value }) => [name, value]) ?? [])).toEqual(ALL)
    expect(php?.noPhpIn).toEqual(['wp-content/uploads', 'files'])
    expect((await panel.get<Site>(`/sites/${data.id}`, ada.token)).data.php_settings).toEqual(ALL)
  })

  test('replaces all its settings with those of a change; the same in another order change nothing', async () => {
    const { data: site } = await create({ php_settings: { memory_limit: '64M', display_errors: true } })
    const { data } = await change(site.id, { php_settings: { max_execution_time: 20, memory_limit: '32M' } })
    expect([data.php_settings, data.generation]).toEqual([{ memory_limit: '32M', max_execution_time: 20 }, 2])
    const again = await change(site.id, { php_settings: { memory_limit: '32M', max_execution_time: 20 } })
    expect([again.status, again.data.generation]).toEqual([200, 2])
    const none = await change(site.id, { php_settings: {}, no_php_in: [] })
    expect([none.data.php_settings, none.data.generation]).toEqual([{}, 3])
    expect((await change(site.id, { no_php_in: [] })).data.generation).toBe(3)
  })

  test('changes its version and keeps its settings; without PHP it has none', async () => {
    const { data: site } = await create({ php_settings: { memory_limit: '64M' }, no_php_in: ['files'] })
    const { data } = await change(site.id, { php_version: '8.2' })
    expect([data.php_version, data.php_settings, data.no_php_in]).toEqual(['8.2', { memory_limit: '64M' }, ['files']])
    const { data: plain } = await change(site.id, { kind: 'static' })
    expect([plain.kind, plain.php_settings, plain.no_php_in]).toEqual(['static', {}, []])
    expect((await toldOf(site.id))?.php).toBeUndefined()
  })

  test.each<[object, number, string]>([
    [{ php_settings: null }, 400, 'php_settings: is required'],
    [{ php_settings: [] }, 400, 'php_settings: must be an object'],
    [{ php_settings: 'memory_limit=1M' }, 400, 'php_settings: must be an object'],
    [{ php_settings: { extension: 'ffi' } }, 422, 'php_settings.extension: is not a known field'],
    [{ php_settings: { auto_prepend_file: 'x' } }, 422, 'php_settings.auto_prepend_file: is not a known field'],
    [{ php_settings: { open_basedir: '/' } }, 422, 'php_settings.open_basedir: is not a known field'],
    [{ php_settings: { memory_limit: 128 } }, 400, 'php_settings.memory_limit: must be a string'],
    [
      { php_settings: { memory_limit: '-1' } },
      422,
      'php_settings.memory_limit: must be a size from 16M to 4096M, such as 128M',
    ],
    [
      { php_settings: { memory_limit: '1G' } },
      422,
      'php_settings.memory_limit: must be a size from 16M to 4096M, such as 128M',
    ],
    [
      { php_settings: { memory_limit: '257M' } },
      422,
      'php_settings.memory_limit: must be at most 256M, the limit of the subscription',
    ],
    [
      { php_settings: { max_execution_time: 61 } },
      422,
      'php_settings.max_execution_time: must be at most 60, the limit of the subscription',
    ],
    [
      { php_settings: { upload_max_filesize: '65M' } },
      422,
      'php_settings.upload_max_filesize: must be at most 64M, the limit of the subscription',
    ],
    [{ php_settings: { display_errors: 'on' } }, 400, 'php_settings.display_errors: must be a boolean'],
    [{ php_settings: { max_input_vars: 1.5 } }, 400, 'php_settings.max_input_vars: must be an integer'],
    [{ php_settings: { max_input_vars: 1 } }, 422, 'php_settings.max_input_vars: must be from 100 to 100000'],
    [
      { php_settings: { 'date.timezone': 'Europe/Atlantis' } },
      422,
      'php_settings.date.timezone: must be the name of a time zone, such as Europe/Berlin',
    ],
    [
      { php_settings: { disable_functions: 'exec;system' } },
      422,
      'php_settings.disable_functions: must be names of functions, with a comma and no space between them',
    ],
    [
      { php_settings: { 'session.cookie_samesite': 'lax' } },
      422,
      'php_settings.session.cookie_samesite: must be one of Lax, Strict, None',
    ],
    [{ no_php_in: 'files' }, 400, 'no_php_in: must be an array'],
    [{ no_php_in: ['../up'] }, 422, 'no_php_in.0: must be a relative directory, such as wp-content/uploads'],
    [{ no_php_in: ['files', 'files'] }, 422, 'no_php_in: must not have the same entry twice'],
    [{ no_php_in: Array.from({ length: 21 }, (_, i) => `d${i}`) }, 422, 'no_php_in: must have at most 20 entries'],
    [{ kind: 'static', php_settings: { memory_limit: '64M' } }, 422, 'php_settings: only a site of kind php has them'],
    [{ kind: 'static', no_php_in: ['files'] }, 422, 'no_php_in: only a site of kind php has them'],
    [{ php_version: '8.3' }, 422, 'php_version: needs PHP as it is installed on the server, which has 8.4, 8.2'],
  ])('is refused with %j, new or changed', async (wrong, status, message) => {
    const { data: site } = await create()
    const made = await create(wrong)
    expect([made.status, made.message]).toEqual([status, message])
    const changed = await change(site.id, wrong)
    expect([changed.status, changed.message]).toEqual([status, message])
    expect((await panel.get<Site>(`/sites/${site.id}`, ada.token)).data).toEqual(site)
  })

  test('is never told of more than it may set, whatever is sent', async () => {
    const { data: site } = await create()
    const names = Object.keys(PHP_DIRECTIVES)
    const hostile = oneof(
      string({ unit: 'binary', maxLength: 40 }),
      constantFrom(
        'a\nb',
        'a;b',
        'a"b',
        "a'b",
        'a}b',
        '../x',
        'a\0b',
        `\${PATH}`,
        '$pool',
        'x'.repeat(3000),
        '128M\n',
        '1M;2M',
      ),
    )
    await assert(
      asyncProperty(constantFrom(...names), hostile, async (name, value) => {
        const { status } = await change(site.id, { php_settings: { [name]: value } })
        expect([200, 400, 422]).toContain(status)
        const { php } = (await toldOf(site.id)) ?? {}
        for (const setting of php?.settings ?? []) expect(`${setting.value}`).toMatch(/^[A-Za-z0-9_/,+-]+$/)
      }),
      { numRuns: 300 },
    )
  })
})

describe('the limits of a subscription', () => {
  test('are the defaults unless an administrator sets them, and the table has the same ones', async () => {
    const id = await panel.subscription(ada.id)
    const { data } = await panel.get<Limits>(`/subscriptions/${id}`, ada.token)
    expect(data).toMatchObject({
      php_workers: DEFAULT_PHP_LIMITS.workers,
      php_memory_mb: DEFAULT_PHP_LIMITS.memoryMb,
      php_seconds: DEFAULT_PHP_LIMITS.seconds,
      php_upload_mb: DEFAULT_PHP_LIMITS.uploadMb,
    })
  })

  test('reach the node of its sites, whose generation rises', async () => {
    const { data: site } = await create()
    const limits = { php_workers: 2, php_memory_mb: 128, php_seconds: 30, php_upload_mb: 16 }
    const changed = await panel.patch<Limits>(`/admin/subscriptions/${subscriptionId}`, admin, limits)
    expect([changed.status, changed.data]).toEqual([200, expect.objectContaining(limits)])
    expect((await told())?.php).toEqual({ workers: 2, memoryMb: 128, seconds: 30, uploadMb: 16 })
    expect((await panel.get<Site>(`/sites/${site.id}`, ada.token)).data.generation).toBe(2)
    const { message } = await change(site.id, { php_settings: { memory_limit: '129M' } })
    expect(message).toBe('php_settings.memory_limit: must be at most 128M, the limit of the subscription')
    await panel.patch(`/admin/subscriptions/${subscriptionId}`, admin, {
      php_workers: 5,
      php_memory_mb: 256,
      php_seconds: 60,
      php_upload_mb: 64,
    })
  })

  test('can be set with a new one', async () => {
    const limits = { php_workers: 1, php_memory_mb: 32, php_seconds: 5, php_upload_mb: 1 }
    const { status, data } = await panel.post('/admin/subscriptions', admin, {
      user_id: ada.id,
      name: 'Small',
      ...limits,
    })
    expect([status, data]).toEqual([201, expect.objectContaining(limits)])
  })

  test.each(
    Object.entries({
      php_workers: PHP_LIMITS.workers,
      php_memory_mb: PHP_LIMITS.memoryMb,
      php_seconds: PHP_LIMITS.seconds,
      php_upload_mb: PHP_LIMITS.uploadMb,
    }),
  )('%s has bounds', async (name, { minimum, maximum }) => {
    for (const wrong of [minimum - 1, maximum + 1, 1e300]) {
      const { status, message } = await panel.patch(`/admin/subscriptions/${subscriptionId}`, admin, { [name]: wrong })
      expect([status, message]).toEqual([422, `${name}: must be from ${minimum} to ${maximum}`])
    }
    for (const wrong of ['5', null, 1.5, true]) {
      const { status, message } = await panel.patch(`/admin/subscriptions/${subscriptionId}`, admin, { [name]: wrong })
      expect([status, message]).toEqual([400, `${name}: must be an integer`])
    }
  })

  test('are not a customer’s to change', async () => {
    for (const path of [`/admin/subscriptions/${subscriptionId}`, `/subscriptions/${subscriptionId}`]) {
      const { status } = await panel.patch(path, ada.token, { php_workers: 100 })
      expect([path, status >= 400]).toEqual([path, true])
    }
    const { data } = await panel.get<Limits>(`/subscriptions/${subscriptionId}`, ada.token)
    expect(data.php_workers).toBe(5)
  })
})

describe('another customer', () => {
  test('cannot change PHP of a site, nor can a key that only reads', async () => {
    const { data: site } = await create()
    const bob = await panel.customer()
    await panel.subscription(bob.id)
    expect((await change(site.id, { php_settings: { memory_limit: '64M' } }, bob.token)).status).toBe(403)
    const key = await panel.key(ada.token, { scopes: ['sites:read'] })
    expect((await change(site.id, { php_settings: { memory_limit: '64M' } }, key)).status).toBe(403)
    expect((await panel.send('PATCH', `/sites/${site.id}`, { body: { no_php_in: [] } })).status).toBe(401)
  })
})

test('where the panel serves sites itself, PHP is refused in words', async () => {
  const id = (
    await panel.post<{ id: number }>('/admin/subscriptions', admin, { user_id: ada.id, name: 'Here', node_id: null })
  ).data.id
  const { status, message } = await create({ subscription_id: id })
  expect([status, message]).toEqual([422, 'kind: needs PHP as it is installed on the server, which has none'])
})
