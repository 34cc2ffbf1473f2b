/** `/subscriptions/:id/ssh-keys`. */
import { describe, expect, test } from 'bun:test'
import { createHash, randomBytes } from 'node:crypto'
import { usePanel } from '../../../harness/panel.ts'

type Key = {
  id: number
  subscription_id: number
  type: string
  fingerprint: string
  comment: string
  public_key: string
  created_at: string
}

const panel = await usePanel()
const admin = await panel.admin()
const ada = await panel.customer()
const bob = await panel.customer()
const adas = await panel.subscription(ada.id)
const bobs = await panel.subscription(bob.id)

const field = (bytes: Buffer) => Buffer.concat([Buffer.from([0, 0, 0, bytes.length]), bytes])
const newKey = () =>
  `ssh-ed25519 ${Buffer.concat([field(Buffer.from('ssh-ed25519')), field(randomBytes(32))]).toString('base64')}`
const pathOf = (subscription: number) => `/subscriptions/${subscription}/ssh-keys`
const add = (key: string, subscription = adas, as = ada.token) =>
  panel.post<Key>(pathOf(subscription), as, { public_key: key })
const list = async (subscription = adas, as = ada.token) => (await panel.get<Key[]>(pathOf(subscription), as)).data
const wanted = async () =>
  (await panel.services.readDesired(null, 0)).subscriptions.find(({ id }) => id === adas)?.sshKeys

describe('a key', () => {
  test('is added, listed, told to the node, and deleted', async () => {
    const line = newKey()
    const { status, message, data } = await add(`  ${line} ada@laptop\n`)
    const bytes = Buffer.from(line.split(' ')[1] ?? '', 'base64')
    expect([status, message, data]).toEqual([
      201,
      'Key added',
      {
        id: expect.any(Number),
        subscription_id: adas,
        type: 'ssh-ed25519',
        fingerprint: `SHA256:${createHash('sha256').update(bytes).digest('base64').replace('=', '')}`,
        comment: 'ada@laptop',
        public_key: `${line} ada@laptop`,
        created_at: new Date(panel.clock.now()).toISOString(),
      },
    ])
    expect(await list()).toEqual([data])
    expect(await wanted()).toEqual([line])
    const { revision } = await panel.services.readDesired(null, 0)
    expect((await panel.delete(`${pathOf(adas)}/${data.id}`, ada.token)).status).toBe(200)
    expect(await list()).toEqual([])
    const { subscriptions } = await panel.services.readDesired(null, revision)
    expect(subscriptions.map(({ id, sshKeys }) => [id, sshKeys])).toEqual([[adas, []]])
    expect((await panel.delete(`${pathOf(adas)}/${data.id}`, ada.token)).status).toBe(404)
  })

  test('that is there is refused, whatever its comment, and another subscription may have it too', async () => {
    const line = newKey()
    expect((await add(line)).status).toBe(201)
    const again = await add(`${line} other`)
    expect([again.status, again.message]).toEqual([409, 'public_key: the subscription has this key already'])
    expect((await add(line, bobs, bob.token)).status).toBe(201)
  })

  test('that is none is refused', async () => {
    const before = await list()
    for (const [body, status] of [
      [{ public_key: 'ssh-dss AAAA' }, 422],
      [{ public_key: '' }, 422],
      [{ public_key: 'x'.repeat(4097) }, 422],
      [{ public_key: `command="id" ${newKey()}` }, 422],
      [{ public_key: `${newKey()}\n${newKey()}` }, 422],
      [{ public_key: newKey(), comment: 'x' }, 422],
      [{ public_key: 5 }, 400],
      [{}, 400],
    ] as const) {
      const answer = await panel.post(pathOf(adas), ada.token, body)
      expect([body, answer.status]).toEqual([body, status])
    }
    expect(await list()).toEqual(before)
  })

  test('is one of at most fifty, also when many are added at the same time', async () => {
    const carol = await panel.customer()
    const subscription = await panel.subscription(carol.id)
    const answers = await Promise.all(Array.from({ length: 53 }, () => add(newKey(), subscription, carol.token)))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(50)
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(3)
    expect(await list(subscription, carol.token)).toHaveLength(50)
  })

  test('of a suspended subscription can be read and deleted, and none is added', async () => {
    const carol = await panel.customer()
    const subscription = await panel.subscription(carol.id)
    const { data } = await add(newKey(), subscription, carol.token)
    await panel.patch(`/admin/subscriptions/${subscription}`, admin, { status: 'suspended' })
    expect((await add(newKey(), subscription, carol.token)).status).toBe(409)
    expect(await list(subscription, carol.token)).toEqual([data])
    expect((await panel.delete(`${pathOf(subscription)}/${data.id}`, carol.token)).status).toBe(200)
  })

  test('is added once for a repeated request', async () => {
    const headers = { 'idempotency-key': crypto.randomUUID() }
    const body = { public_key: newKey() }
    const first = await panel.send<Key>('POST', pathOf(adas), { as: ada.token, body, headers })
    const again = await panel.send<Key>('POST', pathOf(adas), { as: ada.token, body, headers })
    expect([first.status, again.status, again.data]).toEqual([201, 201, first.data])
  })

  test('is in the audit log, without the key itself', async () => {
    const { data } = await add(newKey())
    await panel.delete(`${pathOf(adas)}/${data.id}`, ada.token)
    const { rows } = await panel.services.auditLog.list({ limit: 1000, afterId: 0 })
    const logged = rows.filter(({ targetType, targetId }) => targetType === 'ssh_key' && targetId === data.id)
    expect(logged.map(({ action }) => action).sort()).toEqual(['ssh_key.create', 'ssh_key.delete'])
    for (const { details } of logged) {
      expect(JSON.parse(details)).toEqual({ subscription_id: adas, fingerprint: data.fingerprint, comment: '' })
    }
  })
})

test('another customer, a key without the scope or bound elsewhere, and no credential are refused', async () => {
  const { data } = await add(newKey())
  const one = `${pathOf(adas)}/${data.id}`
  const elsewhere = await panel.subscription(ada.id)
  for (const [as, status] of [
    [bob.token, 403],
    [await panel.key(ada.token, { scopes: ['sites:write', 'subscriptions:write'] }), 403],
    [await panel.key(ada.token, { scopes: ['ssh-keys:write', 'ssh-keys:read'], subscription_id: elsewhere }), 403],
    [undefined, 401],
  ] as const) {
    const own = as === undefined ? {} : { as }
    expect((await panel.send('GET', pathOf(adas), own)).status).toBe(status)
    expect((await panel.send('POST', pathOf(adas), { ...own, body: { public_key: newKey() } })).status).toBe(status)
    expect((await panel.send('DELETE', one, own)).status).toBe(status)
  }
  // A key of another subscription is not found below this one.
  expect((await panel.delete(`${pathOf(bobs)}/${data.id}`, bob.token)).status).toBe(404)
  const reads = await panel.key(ada.token, { scopes: ['ssh-keys:read'], subscription_id: adas })
  expect((await panel.get(pathOf(adas), reads)).status).toBe(200)
  expect((await panel.delete(one, reads)).status).toBe(403)
  expect((await panel.delete(one, admin)).status).toBe(200)
})
