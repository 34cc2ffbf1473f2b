/** Which node serves a new subscription, and what that means for its sites and for the node. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { operator } from '../../../../src/core/actor.ts'
import { allRows } from '../../../../src/core/page.ts'
import { MOST_LOST_SUBSCRIPTIONS } from '../../../../src/node/installation.ts'
import type { NodeStatus } from '../../../../src/node/protocol.ts'
import { type Customer, usePanel } from '../../../harness/panel.ts'

type Subscription = { id: number; node_id: number | null }
type Site = {
  id: number
  serving: { driver: string | null; node_id: number | null }
  urls: string[]
  status: string
  status_reason: string | null
  php_version: string | null
}
type NodeData = {
  id: number
  subscriptions: number
  drained_at: string | null
  held: object | null
  version: string | null
}

const panel = await usePanel({ sitesPort: 8080 })
const { nodes, takeSelfReport, writeAsNode, nodeCredentials, subscriptions } = panel.services
const free: NodeStatus = { held: null, orphans: [], highestSubscriptionId: 0 }
let admin: string
let ada: Customer
let named = 0

beforeAll(async () => {
  admin = await panel.admin()
  ada = await panel.customer()
})

const addNode = () => nodes.add(operator, `web-${++named}`)

/** As a node does over HTTP. */
async function connect(token: string, status: Partial<NodeStatus> = {}, phpVersions: string[] = []): Promise<void> {
  const found = await nodeCredentials.recognize(token)
  if (!('nodeId' in found)) throw new Error('the token is not valid')
  const origin = { address: '203.0.113.7', group: '203.0.113.7', userAgent: '', requestId: '' }
  await writeAsNode({ ...found, kind: 'node', origin }, (tx, { nodeId }) =>
    takeSelfReport(tx, nodeId, {
      status: { ...free, ...status },
      description: { version: '1.2.3', phpVersions, time: panel.clock.now() + 2500 },
    }),
  )
}

const create = (options: object = {}) =>
  panel.post<Subscription>('/admin/subscriptions', admin, { user_id: ada.id, name: 'Hosting', ...options })
const nodeOf = async (options?: object) => (await create(options)).data.node_id
const shown = async (id: number) => (await panel.get<NodeData>(`/admin/nodes/${id}`, admin)).data

async function siteIn(subscriptionId: number, options: object = {}) {
  const body = { domain: `site-${++named}.example`, subscription_id: subscriptionId, ...options }
  return panel.post<Site>('/sites', ada.token, body)
}

/** Leaves none that another test made. */
async function removeNodes(): Promise<void> {
  for (const { id } of await allRows(nodes.list)) {
    await nodes.remove(operator, id, { abandons: true })
  }
}

describe('a new subscription', () => {
  test('is served by the panel itself where there is no node, and where none has connected', async () => {
    expect(await nodeOf()).toBeNull()
    const { node } = await addNode()
    expect(await nodeOf()).toBeNull()
    const { status, message } = await create({ node_id: node.id })
    expect([status, message]).toEqual([409, 'node_id: the node has not connected yet'])
    expect((await create({ node_id: 999 })).message).toBe('node_id: no such node')
  })

  test('goes to the node with the fewest, and to the panel only where that is asked for', async () => {
    await removeNodes()
    const [one, other] = [await addNode(), await addNode()]
    await connect(one.token)
    await connect(other.token)
    expect([await nodeOf(), await nodeOf(), await nodeOf()]).toEqual([one.node.id, other.node.id, one.node.id])
    expect(await nodeOf({ node_id: one.node.id })).toBe(one.node.id)
    expect(await nodeOf({ node_id: null })).toBeNull()
    expect([await nodeOf(), await nodeOf(), await nodeOf()]).toEqual([other.node.id, other.node.id, one.node.id])
    expect((await shown(one.node.id)).subscriptions).toBe(4)
  })

  test('goes to no node that is drained or held, unless it is named', async () => {
    await removeNodes()
    const [one, other] = [await addNode(), await addNode()]
    await connect(one.token)
    await connect(other.token, { held: { code: 'new_epoch', message: 'The panel was restored' } })
    await nodes.drain(operator, one.node.id, true)
    expect([await nodeOf(), await nodeOf({ node_id: one.node.id })]).toEqual([null, one.node.id])
    expect((await shown(one.node.id)).drained_at).toBe(new Date(panel.clock.now()).toISOString())
    expect((await shown(other.node.id)).held).toEqual({ code: 'new_epoch', message: 'The panel was restored' })
    await nodes.drain(operator, one.node.id, false)
    expect(await nodeOf()).toBe(one.node.id)
  })

  test('is placed by an administrator alone', async () => {
    const { id } = (await create({ node_id: null })).data
    expect((await panel.patch(`/subscriptions/${id}`, ada.token, { node_id: 1 })).status).toBe(422)
    expect((await panel.patch(`/admin/subscriptions/${id}`, admin, { node_id: 1 })).status).toBe(422)
  })
})

describe('a node', () => {
  test('is sent its own subscriptions and no others, even without a site', async () => {
    await removeNodes()
    const [one, other] = [await addNode(), await addNode()]
    await connect(one.token)
    await connect(other.token)
    const { id } = (await create({ node_id: one.node.id })).data
    const known = async (nodeId: number | null) => {
      const { subscriptions } = await panel.services.readDesired(nodeId, 0)
      return subscriptions.map((subscription) => subscription.id)
    }
    expect(await known(one.node.id)).toEqual([id])
    const { data: site } = await siteIn(id)
    expect(await known(one.node.id)).toEqual([id])
    expect([await known(other.node.id), (await known(null)).includes(id)]).toEqual([[], false])

    // A report of another node, or of the panel's own process, says nothing about it.
    const reported = {
      subscriptionId: id,
      siteId: site.id,
      generation: 1,
      state: 'serving',
      documentRoot: '/',
    } as const
    const status = async () => (await panel.get<Site>(`/sites/${site.id}`, ada.token)).data.status
    for (const nodeId of [null, other.node.id]) {
      await panel.services.takeReport(nodeId, { sites: [reported], releases: [], removedSubscriptions: [] })
    }
    expect(await status()).toBe('provisioning')
    await panel.services.takeReport(one.node.id, { sites: [reported], releases: [], removedSubscriptions: [] })
    expect(await status()).toBe('active')

    // Until it has removed what is left of it.
    await panel.delete(`/admin/subscriptions/${id}?delete_sites=true`, admin)
    const { subscriptions: left } = await panel.services.readDesired(one.node.id, 0)
    expect(left).toMatchObject([{ id, state: 'deleting', sites: [{ id: site.id, state: 'deleting' }] }])
  })

  test('serves its sites on the usual port, and with the PHP that it has', async () => {
    await removeNodes()
    const { node, token } = await addNode()
    await connect(token, {}, ['8.4', '8.2'])
    const { id } = (await create()).data
    const { data } = await siteIn(id, { domain: 'php.example', kind: 'php' })
    expect([data.serving, data.urls, data.php_version]).toEqual([
      { driver: 'nginx', node_id: node.id },
      ['http://php.example'],
      '8.4',
    ])
    expect((await siteIn(id, { php_version: '8.3' })).status).toBe(422)
    const { data: here } = await siteIn((await create({ node_id: null })).data.id)
    expect(here.serving).toEqual({ driver: 'embedded', node_id: null })
  })

  test('is not removed while it has subscriptions, unless it is abandoned: then nobody serves its sites', async () => {
    await removeNodes()
    const { node, token } = await addNode()
    await connect(token)
    const { id } = (await create()).data
    const { data: site } = await siteIn(id)
    await expect(nodes.remove(operator, node.id)).rejects.toThrow('serves a subscription')
    await nodes.remove(operator, node.id, { abandons: true })
    const { data } = await panel.get<Site>(`/sites/${site.id}`, ada.token)
    expect([data.status, data.status_reason]).toEqual([
      'failed',
      'The server that served this site was removed; ask your provider',
    ])
    expect(await nodeOf()).toBeNull()
  })

  test('says what it runs and how its clock goes', async () => {
    const { node, token } = await addNode()
    await connect(token, { orphans: [7] }, ['8.2'])
    expect(await shown(node.id)).toMatchObject({
      version: '1.2.3',
      php_versions: ['8.2'],
      clock_ahead_ms: 2500,
      orphans: [7],
      held: null,
    })
  })
})

describe('an id', () => {
  test('that a node has seen is given to no subscription again', async () => {
    await removeNodes()
    const { token } = await addNode()
    const { id } = (await create()).data
    await connect(token, { highestSubscriptionId: id + 500 })
    expect((await create()).data.id).toBe(id + 501)
    // Only what it says first can be news: a node does not use up the ids of an installation.
    await connect(token, { highestSubscriptionId: id + 900 })
    expect((await create()).data.id).toBe(id + 502)
  })

  test('far above all others is a lie, and its node gets nothing', async () => {
    await removeNodes()
    const { token } = await addNode()
    const { id } = (await create()).data
    const lie = connect(token, { highestSubscriptionId: id + MOST_LOST_SUBSCRIPTIONS + 1 })
    await expect(lie).rejects.toThrow('has the node served another one?')
    expect(await nodeOf()).toBeNull()
  })

  test('of a deleted subscription is not given again', async () => {
    const { id } = (await create()).data
    await panel.delete(`/admin/subscriptions/${id}`, admin)
    expect((await create()).data.id).toBe(id + 1)
    expect(await subscriptions.find(id + 1)).toMatchObject({ id: id + 1 })
  })
})
