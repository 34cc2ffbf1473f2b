/** What the panel writes down of requests to the sites that it serves itself. */
import { expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { type Panel, startPanel, usePanel } from '../harness/panel.ts'
import { archiveOf, deployTo, endOf } from '../harness/site-archives.ts'

type Site = {
  id: number
  subscription_id: number
  domain: string
  usage: { disk_bytes: number | null; files: number | null }
}
type Hour = { hour: string; requests: number; bytes: number; statuses: Record<string, number> }

const panel = await usePanel({ sitesPort: 0 })
const ada = await panel.customer()
await panel.subscription(ada.id)

let names = 0
async function newSite(of: Panel = panel, token = ada.token): Promise<Site> {
  const { data } = await of.post<Site>('/sites', token, { domain: `traffic-${++names}.example` })
  await of.get(`/sites/${data.id}?wait=observed`, token)
  return data
}
const logDirectory = ({ id }: Site, of: Panel = panel) => join(of.data, 'sites/logs', `${id}`)
const flush = () => panel.runTask('the access logs of sites were not written')
const report = () => panel.runTask('requests to sites were not counted; they are counted later')

/** The entries of the only file. */
async function entriesOf(site: Site) {
  await flush()
  const [name = ''] = readdirSync(logDirectory(site))
  const lines = readFileSync(join(logDirectory(site), name), 'utf8')
    .trimEnd()
    .split('\n')
  return lines.map((line) => JSON.parse(line))
}

const usageOf = async ({ id }: Site) => (await panel.get<Hour[]>(`/sites/${id}/usage`, ada.token)).data

test('every request is one line of JSON in the log of its site, and no credential is in it', async () => {
  const [site, other] = [await newSite(), await newSite()]
  await panel.site(site.domain, '/a%20path/?q=1', {
    headers: {
      authorization: 'Bearer secret-token',
      cookie: 'session=secret-cookie',
      'user-agent': 'curl/8',
      referer: 'https://example.org/',
    },
  })
  await panel.site(other.domain, '/')
  await panel.site('unknown.example', '/')
  const entries = await entriesOf(site)
  expect(entries).toEqual([
    {
      time: new Date(panel.clock.now()).toISOString(),
      client: '127.0.0.1',
      scheme: 'http',
      host: site.domain,
      method: 'GET',
      uri: '/a%20path/?q=1',
      status: 200,
      bytes: expect.any(Number),
      duration_ms: 0,
      referer: 'https://example.org/',
      user_agent: 'curl/8',
    },
  ])
  expect(JSON.stringify(entries)).not.toContain('secret')
  expect(await entriesOf(other)).toHaveLength(1)
})

test('hostile requests are harmless lines of their own site', async () => {
  const [site, other] = [await newSite(), await newSite()]
  const port = Number(
    new URL((await panel.get<{ urls: string[] }>(`/sites/${site.id}`, ada.token)).data.urls[0] ?? '').port,
  )
  const send = (text: string) =>
    new Promise<void>((resolve) => {
      const socket = connect({ host: '127.0.0.1', port }, () => socket.write(Buffer.from(text, 'latin1')))
      socket.resume()
      socket.on('close', () => resolve())
      socket.on('error', () => {})
    })
  const end = 'Connection: close\r\n\r\n'
  await send(
    `GET /\xff\x01"}{../../${other.id} HTTP/1.1\r\nHost: ${site.domain}\r\nUser-Agent: "\x1b[31m\u00fc","status":1}\r\n${end}`,
  )
  await send(`GET /ok HTTP/1.1\r\nHost: ${site.domain}\r\nReferer: ../../../etc/passwd\r\n${end}`)
  await send(`GET / HTTP/1.1\r\nHost: ../${other.id}\r\n${end}`)
  const entries = await entriesOf(site)
  expect(entries.at(-1)).toMatchObject({ uri: '/ok', referer: '../../../etc/passwd' })
  for (const entry of entries) expect(entry.host).toBe(site.domain)
  await flush()
  expect(existsSync(logDirectory(other))).toBeFalse()
})

test('addresses are cut to their network before they are written, from the moment that it is set', async () => {
  const site = await newSite()
  await panel.site(site.domain)
  await flush()
  const admin = await panel.admin()
  await panel.patch('/admin/settings', admin, { site_log_addresses: 'shortened' })
  await panel.site(site.domain)
  expect((await entriesOf(site)).map(({ client }) => client)).toEqual(['127.0.0.1', '127.0.0.0'])
  await panel.patch('/admin/settings', admin, { site_log_addresses: 'full' })
})

test('requests are counted by the hour, bytes and classes of status too', async () => {
  const site = await newSite()
  const sent = (await (await panel.site(site.domain)).arrayBuffer()).byteLength
  const missed = (await (await panel.site(site.domain, '/missing.php')).arrayBuffer()).byteLength
  await panel.site(site.domain, '/', { method: 'HEAD' })
  expect(await usageOf(site)).toEqual([])
  await report()
  const hour = new Date(Math.floor(panel.clock.now() / 3_600_000) * 3_600_000).toISOString()
  const first = {
    hour,
    requests: 3,
    bytes: sent + missed,
    statuses: { '1xx': 0, '2xx': 3, '3xx': 0, '4xx': 0, '5xx': 0 },
  }
  const [counted] = await usageOf(site)
  expect(counted).toMatchObject({ hour, requests: 3, bytes: first.bytes })
  await report()
  expect(await usageOf(site)).toEqual(counted ? [counted] : [])
  await panel.site(site.domain)
  panel.clock.advance(3600)
  await panel.site(site.domain)
  await report()
  expect((await usageOf(site)).map(({ requests }) => requests)).toEqual([4, 1])
})

test('an orderly stop writes and counts what waits', async () => {
  const own = await startPanel({ sitesPort: 0, data: join(panel.data, 'own') })
  const bob = await own.customer()
  await own.subscription(bob.id)
  const site = await newSite(own, bob.token)
  await own.site(site.domain)
  await own.stop()
  expect(readdirSync(logDirectory(site, own))).toHaveLength(1)
  const again = await startPanel({ data: join(panel.data, 'own') })
  const token = await again.login(bob.email)
  again.clock.jump(Math.round((own.clock.now() - again.clock.now()) / 1000))
  expect((await again.get<Hour[]>(`/sites/${site.id}/usage`, token)).data).toMatchObject([{ requests: 1 }])
  await again.stop()
})

test('what a site takes on the disk is measured', async () => {
  const site = await newSite()
  const measure = () => panel.runTask('sites were not measured')
  const measured = async () => (await panel.get<Site>(`/sites/${site.id}`, ada.token)).data.usage
  expect(await measured()).toEqual({ disk_bytes: null, files: null })
  await measure()
  expect(await measured()).toEqual({ disk_bytes: 0, files: 0 })
  const deploy = async (number: number, files: Record<string, string>) =>
    expect(await endOf(panel, await deployTo(panel, site, archiveOf(files), number))).toBe('active')
  await deploy(1, { 'index.html': 'x'.repeat(100_000), 'a/b.txt': 'b' })
  await measure()
  const first = await measured()
  expect(first.files).toBe(2)
  expect(first.disk_bytes).toBeGreaterThan(100_000)
  await deploy(2, { 'index.html': 'y'.repeat(50_000) })
  await measure()
  expect((await measured()).files).toBe(3)
  expect((await measured()).disk_bytes).toBeGreaterThan((first.disk_bytes ?? 0) + 50_000)
})

test('the logs of a deleted site are deleted', async () => {
  const site = await newSite()
  await panel.site(site.domain)
  expect(await entriesOf(site)).toHaveLength(1)
  await panel.delete(`/sites/${site.id}`, ada.token)
  await panel.get(`/sites/${site.id}?wait=observed`, ada.token)
  await flush()
  expect(existsSync(logDirectory(site))).toBeFalse()
})

test('old days are deleted as the setting says, also of a site without visitors', async () => {
  const site = await newSite()
  await panel.site(site.domain)
  expect(await entriesOf(site)).toHaveLength(1)
  panel.clock.advance(2 * 24 * 60 * 60)
  await panel.runTask('old logs of sites were not deleted')
  expect(readdirSync(logDirectory(site))).toHaveLength(1)
  await panel.patch('/admin/settings', await panel.admin(), { site_log_days: 2 })
  await panel.runTask('old logs of sites were not deleted')
  expect(readdirSync(logDirectory(site))).toEqual([])
})
