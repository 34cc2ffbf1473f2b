/** The sample site: deployed by the operator, and always the same archive. */
import { expect, test } from 'bun:test'
import { operator } from '../../../../src/core/actor.ts'
import { sampleArchive } from '../../../../src/features/hosting/deployments/sample.ts'
import { usePanel } from '../../../harness/panel.ts'
import { endOf } from '../../../harness/site-archives.ts'
import { type Deployment, useDeployments } from './world.ts'

const { panel, newSite, list, onDisk } = await useDeployments()

test('the sample is the same archive each time', async () => {
  expect(await sampleArchive()).toEqual(await sampleArchive())
})

test('a deployment by the operator has no uploader, and the audit log says who it was', async () => {
  const place = await newSite()
  const archive = await sampleArchive()
  const { id } = await panel.services.deployments.createFor(operator, place.site, archive)
  expect(await list(place)).toMatchObject([
    { id, status: 'unpacking', sha256: Bun.SHA256.hash(archive, 'hex'), created_by: null },
  ])
  const [entry] = (await panel.get<object[]>('/audit-log?action=deployment.create', place.owner.token)).data
  expect(entry).toMatchObject({ target_id: id, credential_kind: 'operator' })
})

test('one for a site that is not there is refused, and leaves nothing', async () => {
  const before = onDisk()
  await expect(panel.services.deployments.createFor(operator, 999_999, await sampleArchive())).rejects.toThrow(
    'No such site',
  )
  expect(onDisk()).toEqual(before)
})

test('the sample obeys the rules for archives, and is served', async () => {
  const own = await usePanel({ sitesPort: 0 })
  const owner = await own.customer()
  await own.subscription(owner.id)
  const site = (await own.post<{ id: number }>('/sites', owner.token, { domain: 'sample.example' })).data.id
  const { id } = await own.services.deployments.createFor(operator, site, await sampleArchive())
  expect(await endOf(own, id)).toBe('active')
  expect((await own.get<Deployment>(`/sites/${site}/deployments/${id}`, owner.token)).data.files).toBe(2)
  expect(await (await own.site('sample.example')).text()).toContain('<h1>A site served by ncp</h1>')
})
