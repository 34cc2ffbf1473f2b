/** The archives that a node downloads: those that it has to unpack, and no others. */
import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { archiveOf } from '../../../harness/archives.ts'
import { useNodes } from './world.ts'

const { panel, one, other, newSite, deploy } = await useNodes()
let archives = 0
/** No other test has one with this digest. */
const newArchive = () => archiveOf({ 'index.html': `page ${++archives}` })

test('a node downloads what it has to unpack, byte for byte', async () => {
  const archive = newArchive()
  const { data } = await deploy(await newSite(one), archive)
  const response = await one.archive(data.sha256)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/octet-stream'])
  expect(response.headers.get('content-length')).toBe(`${archive.length}`)
  expect(response.headers.get('cache-control')).toBe('no-store')
  const bytes = new Uint8Array(await response.arrayBuffer())
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(data.sha256)
})

test('the archive of another node is not found, even with its digest', async () => {
  const { data } = await deploy(await newSite(other), newArchive())
  const response = await one.archive(data.sha256)
  expect([response.status, await response.json()]).toEqual([
    404,
    { data: null, error: 'not found', message: 'This node has no such archive to unpack' },
  ])
})

test('an archive that both have to unpack is found by both', async () => {
  const archive = newArchive()
  const { data } = await deploy(await newSite(one), archive)
  await deploy(await newSite(other), archive)
  for (const node of [one, other]) expect((await node.archive(data.sha256)).status).toBe(200)
})

test('an archive that is unpacked, lost or unknown is not found', async () => {
  const place = await newSite(one)
  const { data } = await deploy(place, newArchive())
  const ready = { siteId: place.site, deploymentId: data.id, state: 'ready', files: 1, bytes: 5 } as const
  await one.report({ releases: [ready] })
  expect((await one.archive(data.sha256)).status).toBe(404)
  const { data: lost } = await deploy(place, newArchive())
  rmSync(join(panel.data, 'sites', 'archives', `${lost.id}`))
  expect((await one.archive(lost.sha256)).status).toBe(404)
  expect((await one.archive('0'.repeat(64))).status).toBe(404)
})

test('a digest is 64 hexadecimal digits', async () => {
  for (const wrong of ['0', 'F'.repeat(64), '..%2f..%2fncp.db', `${'0'.repeat(64)}x`]) {
    expect([wrong, (await one.archive(wrong)).status]).toEqual([wrong, 422])
  }
})

test('no user downloads one', async () => {
  const { data } = await deploy(await newSite(one), newArchive())
  const status = async (as: string) => (await panel.get(`/node/archives/${data.sha256}`, as)).status
  expect(await status(await panel.admin())).toBe(403)
  expect(await status(`ncpn_${'0'.repeat(64)}`)).toBe(401)
})
