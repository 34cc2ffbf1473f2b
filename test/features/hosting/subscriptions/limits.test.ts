/** Limits of a subscription: set by administrators, shown to customers with what is used, and held. */
import { describe, expect, test } from 'bun:test'
import { operator } from '../../../../src/core/actor.ts'
import type { NodeReport } from '../../../../src/node/protocol.ts'
import { startPanel, usePanel } from '../../../harness/panel.ts'
import { archiveOf, endOf } from '../../../harness/site-archives.ts'

type Subscription = {
  max_disk_bytes: number
  max_archive_bytes: number
  max_unpacked_bytes: number
  max_files: number
  limits: { disk: { max_bytes: number | null; used_bytes: number | null; enforced: string } }
}
type Deployment = { id: number; status: string; failure: { code: string } | null }

const MEBIBYTE = 1024 * 1024
const panel = await usePanel({ sitesPort: 0 })
const admin = await panel.admin()
const nothing: NodeReport = { sites: [], releases: [], removedSubscriptions: [] }

let names = 0
async function world() {
  const ada = await panel.customer()
  const id = await panel.subscription(ada.id)
  const { data: site } = await panel.post<{ id: number }>('/sites', ada.token, { domain: `limited-${++names}.example` })
  const read = async () => (await panel.get<Subscription>(`/subscriptions/${id}`, ada.token)).data
  const limit = (body: object) => panel.patch<Subscription>(`/admin/subscriptions/${id}`, admin, body)
  const deploy = (archive: Uint8Array) =>
    panel.send<Deployment>('POST', `/sites/${site.id}/deployments`, { as: ada.token, rawBody: archive as Bun.BodyInit })
  const outcome = async ({ data }: { data: Deployment }) => {
    await endOf(panel, data.id)
    return (await panel.get<Deployment>(`/sites/${site.id}/deployments/${data.id}`, ada.token)).data
  }
  const measured = (bytes: number, enforced: 'kernel' | 'measured' = 'measured', node: number | null = null) =>
    panel.services.takeReport(node, { ...nothing, subscriptionSizes: [{ subscriptionId: id, bytes, enforced }] })
  return { ada, id, site, read, limit, deploy, outcome, measured }
}

describe('limits', () => {
  test('have defaults, are set by administrators, and are shown to the customer', async () => {
    const { ada, id, read, limit } = await world()
    expect(await read()).toMatchObject({
      max_disk_bytes: 0,
      max_archive_bytes: 512 * MEBIBYTE,
      max_unpacked_bytes: 2048 * MEBIBYTE,
      max_files: 100_000,
      limits: { disk: { max_bytes: null, used_bytes: null, enforced: 'measured' } },
    })
    const wanted = {
      max_disk_bytes: 10 * MEBIBYTE,
      max_archive_bytes: MEBIBYTE,
      max_unpacked_bytes: 2 * MEBIBYTE,
      max_files: 3,
    }
    const changed = await limit(wanted)
    expect([changed.status, changed.data]).toEqual([200, expect.objectContaining(wanted)])
    expect(await read()).toMatchObject({ ...wanted, limits: { disk: { max_bytes: 10 * MEBIBYTE } } })
    expect((await panel.patch(`/subscriptions/${id}`, ada.token, { max_disk_bytes: 0 })).status).toBe(422)
    expect((await panel.patch(`/admin/subscriptions/${id}`, ada.token, { max_disk_bytes: 0 })).status).toBe(403)
  })

  test('can be set with a new subscription', async () => {
    const { ada } = await world()
    const { status, data } = await panel.post<Subscription>('/admin/subscriptions', admin, {
      user_id: ada.id,
      name: 'Small',
      max_disk_bytes: MEBIBYTE,
      max_files: 10,
    })
    expect([status, data]).toEqual([201, expect.objectContaining({ max_disk_bytes: MEBIBYTE, max_files: 10 })])
  })

  test.each([
    { max_disk_bytes: -1 },
    { max_disk_bytes: 2 ** 51 },
    { max_archive_bytes: 0 },
    { max_archive_bytes: 5 * 1024 * MEBIBYTE },
    { max_unpacked_bytes: 1 },
    { max_files: 0 },
    { max_files: 1_000_001 },
    { limits: {} },
  ])('cannot be %j', async (body) => {
    const { limit } = await world()
    expect((await limit(body)).status).toBe(422)
  })

  test.each([{ max_files: '5' }, { max_files: 1.5 }, { max_disk_bytes: null }])(
    'are integers, not %j',
    async (body) => {
      const { limit } = await world()
      expect((await limit(body)).status).toBe(400)
    },
  )
})

describe('a deployment', () => {
  test('with a larger archive than allowed is refused before it is sent', async () => {
    const { limit, deploy } = await world()
    await limit({ max_archive_bytes: MEBIBYTE })
    const { status, message } = await deploy(Buffer.alloc(MEBIBYTE + 1))
    expect([status, message]).toEqual([413, `An archive of this subscription must be at most ${MEBIBYTE} bytes`])
  })

  test('that becomes more files or bytes than allowed fails', async () => {
    const { limit, deploy, outcome } = await world()
    await limit({ max_files: 2 })
    expect(await outcome(await deploy(archiveOf({ a: '1', b: '2', c: '3' })))).toMatchObject({
      status: 'failed',
      failure: { code: 'too_many_files' },
    })
    await limit({ max_files: 3, max_unpacked_bytes: MEBIBYTE })
    expect(await outcome(await deploy(archiveOf({ a: 'x'.repeat(MEBIBYTE + 1) })))).toMatchObject({
      status: 'failed',
      failure: { code: 'too_many_bytes' },
    })
    expect(await outcome(await deploy(archiveOf({ a: '1', b: '2', c: '3' })))).toMatchObject({ status: 'active' })
  })

  test('is refused over the disk limit, and taken again when there is room', async () => {
    const { limit, deploy, outcome, measured, read } = await world()
    await limit({ max_disk_bytes: 2 * MEBIBYTE })
    await measured(2 * MEBIBYTE)
    expect((await read()).limits.disk.used_bytes).toBe(2 * MEBIBYTE)
    const { status, message } = await deploy(archiveOf({ 'index.html': 'x' }))
    expect([status, message]).toEqual([409, `The subscription's disk limit of ${2 * MEBIBYTE} bytes is reached`])
    await measured(MEBIBYTE)
    expect(await outcome(await deploy(archiveOf({ 'index.html': 'x' })))).toMatchObject({ status: 'active' })
  })

  test('gets no more than what is left of the disk, and counts before it is measured', async () => {
    const { limit, deploy, outcome, measured, read } = await world()
    await limit({ max_disk_bytes: 2 * MEBIBYTE })
    await measured(MEBIBYTE)
    const big = archiveOf({ 'big.bin': 'x'.repeat(MEBIBYTE - 1000) })
    expect(await outcome(await deploy(big))).toMatchObject({ status: 'active' })
    expect((await read()).limits.disk.used_bytes).toBe(2 * MEBIBYTE - 1000)
    expect(await outcome(await deploy(archiveOf({ 'more.bin': 'x'.repeat(1001) })))).toMatchObject({
      status: 'failed',
      failure: { code: 'too_many_bytes' },
    })
  })

  test('that waits counts, so that many at the same time do not pass together', async () => {
    // Nothing unpacks here.
    const idle = await startPanel({ sitesPort: 8080 })
    const ada = await idle.customer()
    const id = await idle.subscription(ada.id)
    const { data: site } = await idle.post<{ id: number }>('/sites', ada.token, { domain: 'waits.example' })
    const body = { max_disk_bytes: 64 * 1024 }
    expect((await idle.patch(`/admin/subscriptions/${id}`, await idle.admin(), body)).status).toBe(200)
    await idle.services.takeReport(null, {
      ...nothing,
      subscriptionSizes: [{ subscriptionId: id, bytes: 40 * 1024, enforced: 'measured' }],
    })
    const archive = new Uint8Array(30 * 1024)
    archive.set(archiveOf({ 'index.html': 'x' }))
    const deploy = () =>
      idle.send<Deployment>('POST', `/sites/${site.id}/deployments`, { as: ada.token, rawBody: archive })
    const answers = await Promise.all([deploy(), deploy()])
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409])
    await idle.stop()
  })
})

describe('what a node reports of the disk', () => {
  test('says who enforces the limit', async () => {
    const { measured, read } = await world()
    await measured(5, 'kernel')
    expect((await read()).limits.disk).toEqual({ max_bytes: null, used_bytes: 5, enforced: 'kernel' })
    await measured(-1, 'nobody' as 'kernel')
    expect((await read()).limits.disk).toEqual({ max_bytes: null, used_bytes: 0, enforced: 'measured' })
  })

  test('counts for its own subscriptions alone', async () => {
    const { measured, read } = await world()
    const { node } = await panel.services.nodes.add(operator, 'elsewhere')
    await measured(5, 'measured', node.id)
    expect((await read()).limits.disk.used_bytes).toBeNull()
    await panel.services.takeReport(null, {
      ...nothing,
      subscriptionSizes: [{ subscriptionId: 99_999, bytes: 1, enforced: 'measured' }],
    })
  })

  test('is all that its sites, their logs and deleted sites take', async () => {
    const { ada, id, site, deploy, outcome, read } = await world()
    const measure = () => panel.runTask('sites were not measured')
    await outcome(await deploy(archiveOf({ 'index.html': 'x'.repeat(100_000) })))
    await measure()
    const first = (await read()).limits.disk.used_bytes ?? 0
    expect(first).toBeGreaterThan(100_000)
    expect(first).toBeLessThan(200_000)
    const { data } = await panel.get<{ domain: string; usage: { disk_bytes: number } }>(`/sites/${site.id}`, ada.token)
    expect(data.usage.disk_bytes).toBe(first)
    await panel.site(data.domain)
    await panel.runTask('the access logs of sites were not written')
    await measure()
    const withLogs = (await read()).limits.disk.used_bytes ?? 0
    expect(withLogs).toBeGreaterThan(first)
    await panel.delete(`/sites/${site.id}`, ada.token)
    await panel.get(`/sites/${site.id}?wait=observed`, ada.token)
    await measure()
    expect((await read()).limits.disk.used_bytes).toBeGreaterThan(100_000)
    await Bun.$`rm -r ${panel.data}/sites/.trash`
    await measure()
    expect((await read()).limits.disk.used_bytes).toBe(0)
    expect((await panel.get(`/admin/subscriptions/${id}`, admin)).status).toBe(200)
  })
})
