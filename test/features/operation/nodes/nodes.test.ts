/** The token of a node: what it opens, how it is replaced, and when it stops working. */
import { describe, expect, test } from 'bun:test'
import { type NodeActor, operator } from '../../../../src/core/actor.ts'
import { sha256 } from '../../../../src/crypto/secret.ts'
import { storedRows } from '../../../harness/database.ts'
import { exampleBody, fillPath, operationsOf } from '../../../harness/operations.ts'
import { startPanel, usePanel } from '../../../harness/panel.ts'
import { until } from '../../../harness/until.ts'

type NodeData = { id: number; name: string; subscriptions: number; last_seen_at: string | null }
type Token = { token: string; previous_valid_until: string }

const HOUR_SECONDS = 60 * 60
const panel = await usePanel()
let named = 0
const addNode = () => panel.services.nodes.add(operator, `web-${++named}`)
const rotate = (as?: string) => panel.send<Token>('POST', '/node/token', as === undefined ? {} : { as })
const statusOf = async (as: string) => (await rotate(as)).status

describe('the token of a node', () => {
  test('is stored as a hash alone', async () => {
    const { token } = await addNode()
    expect(token).toMatch(/^ncpn_[0-9a-f]{64}$/)
    expect(JSON.stringify(storedRows(panel))).not.toContain(token.slice(5))
  })

  test('is replaced by the node itself, and works for another hour', async () => {
    const { token: first } = await addNode()
    const { status, data } = await rotate(first)
    expect([status, Date.parse(data.previous_valid_until) - panel.clock.now()]).toEqual([200, HOUR_SECONDS * 1000])
    // The answer was lost: the node sends the token that it has, and its hour is not counted anew.
    panel.clock.advance(HOUR_SECONDS - 1)
    const again = await rotate(first)
    expect([again.status, again.data.previous_valid_until]).toEqual([200, data.previous_valid_until])
    expect(await statusOf(data.token)).toBe(401)
    panel.clock.advance(1)
    expect((await rotate(first)).message).toBe('Authentication required')
    expect(await statusOf(again.data.token)).toBe(200)
  })

  test('is 401 if it is malformed, unknown or missing', async () => {
    const { token } = await addNode()
    const wrong = [
      token.slice(0, -1),
      `${token}0`,
      token.toUpperCase(),
      `ncpn_${token.slice(5).toUpperCase().replace(/\d/g, 'A')}`,
      `ncpn_${'0'.repeat(64)}`,
      `ncp_${token.slice(5)}`,
      'ncpn_',
      token.replace('ncpn_', 'NCPN_'),
    ]
    for (const as of wrong) expect([as, await statusOf(as)]).toEqual([as, 401])
    expect((await rotate()).status).toBe(401)
    expect(await statusOf(token)).toBe(200)
  })

  test('stops working at once when the node is removed, the one before it too', async () => {
    const { node, token } = await addNode()
    const { data } = await rotate(token)
    await panel.services.nodes.remove(operator, node.id)
    for (const as of [token, data.token]) expect(await statusOf(as)).toBe(401)
    expect((await panel.get(`/admin/nodes/${node.id}`, await panel.admin())).status).toBe(404)
  })

  test('is not replaced for a node that is removed between the gate and the transaction', async () => {
    const { node, token } = await addNode()
    await panel.services.nodes.remove(operator, node.id)
    const tokenHash = sha256(token)
    const origin = { address: '203.0.113.7', group: '203.0.113.7', userAgent: '', requestId: '' }
    const actor: NodeActor = { kind: 'node', nodeId: node.id, tokenHash, validUntil: null, origin }
    const before = storedRows(panel)
    await expect(panel.services.nodes.rotate(actor)).rejects.toThrow('Authentication required')
    expect(storedRows(panel)).toEqual(before)
  })
})

describe('a node', () => {
  test('is named in the audit log by its id, for what it does and for what it is refused', async () => {
    const { node, token } = await addNode()
    await rotate(token)
    expect((await panel.get('/sites', token)).status).toBe(403)
    await panel.services.incidents.flush()
    type Entry = { credential_kind: string; credential_id: number | null }
    const { data } = await panel.get<Entry[]>('/admin/audit-log', await panel.admin())
    const isItsOwn = (entry: Entry) => entry.credential_kind === 'node' && entry.credential_id === node.id
    const by = { actor_id: null, credential_kind: 'node', credential_id: node.id, address: '127.0.0.1' }
    expect(data.filter(isItsOwn)).toMatchObject([
      { action: 'request', ...by, result: 'refused', details: { method: 'GET', route: '/api/v1/sites' } },
      { action: 'node.token_rotate', ...by, result: 'success' },
    ])
  })

  test('is refused by every route that takes the credential of a user, and changes nothing', async () => {
    const { token } = await addNode()
    const before = storedRows(panel)
    let asked = 0
    for (const operation of await operationsOf(panel)) {
      if (operation.path.startsWith('/api/v1/node/') || operation.isOpen) continue
      const body = exampleBody(operation)
      const path = fillPath(operation.path, 1)
      const { status } = await panel.send(operation.method, path, { as: token, ...(body && { body }) })
      expect([operation.method, path, status]).toEqual([operation.method, path, 403])
      asked++
    }
    expect(asked).toBeGreaterThan(30)
    expect(storedRows(panel)).toEqual(before)
  })

  test('shares its routes with no user, key or administrator', async () => {
    const { token } = await panel.customer()
    const admin = await panel.admin()
    for (const as of [token, await panel.key(token), admin, await panel.key(admin)]) {
      const { status, message } = await rotate(as)
      expect([status, message]).toEqual([403, 'Only a node may do this, with its token'])
    }
  })

  test('has a limit of its own, whatever its address', async () => {
    const limited = await startPanel({ limitNode: 2, limitAnonymous: 1 })
    const one = await limited.services.nodes.add(operator, 'one')
    const other = await limited.services.nodes.add(operator, 'other')
    const ask = async (as: string, from: string) => (await limited.send('GET', '/sites', { as, from })).status
    expect([await ask(one.token, '203.0.113.1'), await ask(one.token, '203.0.113.2')]).toEqual([403, 403])
    expect([await ask(one.token, '203.0.113.3'), await ask(other.token, '203.0.113.1')]).toEqual([429, 403])
    await limited.stop()
  })
})

describe('administrators', () => {
  test('see nodes, their subscriptions, and when they were last seen', async () => {
    const { node, token } = await addNode()
    const admin = await panel.admin()
    const path = `/admin/nodes/${node.id}`
    const seen = async () => (await panel.get<NodeData>(path, admin)).data
    expect(await seen()).toMatchObject({ id: node.id, name: node.name, subscriptions: 0, last_seen_at: null })
    await rotate(token)
    expect((await seen()).last_seen_at).toBe(new Date(panel.clock.now()).toISOString())
    const { data } = await panel.get<NodeData[]>('/admin/nodes', admin)
    expect(data).toContainEqual(await seen())
    expect(JSON.stringify(data)).not.toContain('token')
  })

  test('see the first contact of a node at once, also from another process', async () => {
    // One after the other: what is written once a minute would take three.
    for (let count = 0; count < 3; count++) {
      const { node, token } = await addNode()
      await rotate(token)
      // Unlike a list, it writes nothing that is pending.
      const { lastSeenAt } = await until('the time', async () => {
        const found = await panel.services.nodes.findByName(node.name)
        return found.lastSeenAt !== null && found
      })
      expect(lastSeenAt).toBe(panel.clock.now())
    }
  })

  test('need the scope nodes:read with a key that has scopes', async () => {
    const admin = await panel.admin()
    const status = async (scope: string) =>
      (await panel.get('/admin/nodes', await panel.key(admin, { scopes: [scope] }))).status
    expect([await status('nodes:read'), await status('users:read')]).toEqual([200, 403])
  })

  test('cannot give two nodes one name, and can give the name of a removed one again', async () => {
    const { node } = await addNode()
    await expect(panel.services.nodes.add(operator, node.name)).rejects.toThrow('exists already')
    await panel.services.nodes.remove(operator, node.id)
    expect((await panel.services.nodes.add(operator, node.name)).node.id).toBeGreaterThan(node.id)
  })
})
