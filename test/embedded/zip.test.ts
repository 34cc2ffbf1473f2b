/** A zip archive, from the upload to what a visitor gets, and the reason where it cannot be served. */
import { expect, test } from 'bun:test'
import { usePanel } from '../harness/panel.ts'
import { until } from '../harness/until.ts'
import { type ZipEntry, zip } from '../harness/zip.ts'

type Deployment = { id: number; status: string; failure: object | null }

const panel = await usePanel({ sitesPort: 0 })
const ada = await panel.customer()
await panel.subscription(ada.id)
const site = (await panel.post<{ id: number }>('/sites', ada.token, { domain: 'zip.example' })).data.id

async function deploy(...entries: ZipEntry[]): Promise<Deployment> {
  const path = `/sites/${site}/deployments`
  const { data } = await panel.send<Deployment>('POST', path, { as: ada.token, rawBody: zip(entries) })
  return until('the end of the deployment', async () => {
    const { data: now } = await panel.get<Deployment>(`${path}/${data.id}?wait=observed`, ada.token)
    return ['active', 'failed'].includes(now.status) && now
  })
}
const page = async () => (await panel.site('zip.example', '/')).text()

test('a zip archive is served, and one that is refused leaves it so', async () => {
  expect(await deploy({ name: 'index.html', body: 'from a zip', method: 8 })).toMatchObject({ status: 'active' })
  expect(await page()).toBe('from a zip')
  const refused = await deploy({ name: 'index.html', body: 'other' }, { name: '../up' })
  expect(refused.failure).toMatchObject({ code: 'name_invalid', entry: '../up', line: 2 })
  expect(await page()).toBe('from a zip')
})
