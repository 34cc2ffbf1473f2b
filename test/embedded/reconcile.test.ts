/** Sites that the panel serves itself, from a request to the API to what a visitor gets. */
import { describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { operator, panelItself } from '../../src/core/actor.ts'
import { deployments } from '../../src/db/tables.ts'
import { desired } from '../../src/node/desired-states.ts'
import { newDirectory } from '../harness/directory.ts'
import { type Panel, startPanel, usePanel } from '../harness/panel.ts'
import { archiveOf, deployTo, endOf } from '../harness/site-archives.ts'
import { until } from '../harness/until.ts'

type Site = {
  id: number
  domain: string
  status: string
  status_reason: string | null
  failure: { code: string } | null
  generation: number
  observed_generation: number
  document_root: string
  urls: string[]
  serving: { driver: string }
}

const panel = await usePanel({ sitesPort: 0 })
const ada = await panel.customer()
const subscriptionId = await panel.subscription(ada.id)

let names = 0
const newName = () => `served-${++names}.example`
const create = async (body: object = {}) => {
  const { status, data } = await panel.post<Site>('/sites', ada.token, { domain: newName(), ...body })
  expect(status).toBe(201)
  return data
}
const observed = async ({ id }: { id: number }) => (await panel.get<Site>(`/sites/${id}?wait=observed`, ada.token)).data
const change = (site: Site, body: object) => panel.patch<Site>(`/sites/${site.id}`, ada.token, body)
const pageOf = async (host: string, path = '/') => {
  const response = await panel.site(host, path)
  return [response.status, await response.text()] as const
}
const directoryOf = ({ id }: { id: number }) => join(panel.data, 'sites', `${id}`)
const suspended = (status: string) =>
  panel.admin().then((admin) => panel.patch(`/admin/subscriptions/${subscriptionId}`, admin, { status }))

const deploy = ({ id }: { id: number }, archive: Buffer, number: number) =>
  deployTo(panel, { id, subscription_id: subscriptionId }, archive, number)
const deployed = (id: number) => endOf(panel, id)

describe('a new site', () => {
  test('is active once it is served, with a page that says it waits', async () => {
    const site = await create({ aliases: ['alias.served.example'] })
    expect(site).toMatchObject({ status: 'provisioning', serving: { driver: 'embedded' } })
    const now = await observed(site)
    expect(now).toMatchObject({ status: 'active', generation: 1, observed_generation: 1 })
    expect(now.urls.map((url) => new URL(url).hostname)).toEqual([site.domain, 'alias.served.example'])
    for (const host of [site.domain, 'alias.served.example']) {
      const [status, page] = await pageOf(host)
      expect(status).toBe(200)
      expect(page).toContain('waits for its first deployment')
    }
  })

  test('is nobody else’s, and an unknown name is 404', async () => {
    expect((await pageOf('unknown.example'))[0]).toBe(404)
  })
})

describe('a deployment', () => {
  test('is served once it is unpacked, under every name, and the next one after it', async () => {
    const site = await create()
    const first = await deploy(site, archiveOf({ 'index.html': 'one', 'css/a.css': 'a{}' }), 1)
    expect(await deployed(first)).toBe('active')
    expect(await pageOf(site.domain)).toEqual([200, 'one'])
    expect(await pageOf(site.domain, '/css/a.css')).toEqual([200, 'a{}'])
    const second = await deploy(site, archiveOf({ 'index.html': 'two' }), 2)
    expect(await deployed(second)).toBe('active')
    expect(await pageOf(site.domain)).toEqual([200, 'two'])
    expect((await pageOf(site.domain, '/css/a.css'))[0]).toBe(404)
    expect(await observed(site)).toMatchObject({
      status: 'active',
      document_root: join(directoryOf(site), 'current'),
      current_deployment_id: second,
    })
    expect(readlinkSync(join(directoryOf(site), 'current'))).toBe('releases/2')
    await until('the archive is gone', () => readdirSync(join(panel.data, 'sites/archives')).length === 0)
  })

  test('is what a request that waits gets, once it is served', async () => {
    const site = await create()
    await observed(site)
    const id = await deploy(site, archiveOf({ 'index.html': 'waited for' }), 1)
    expect(await observed(site)).toMatchObject({ status: 'active', current_deployment_id: id })
    expect(await pageOf(site.domain)).toEqual([200, 'waited for'])
  })

  test('with a directory public serves that one and nothing beside it', async () => {
    const site = await create()
    const id = await deploy(site, archiveOf({ 'public/index.html': 'shown', 'secret.txt': 'hidden' }), 1)
    expect(await deployed(id)).toBe('active')
    expect(await pageOf(site.domain)).toEqual([200, 'shown'])
    for (const path of ['/secret.txt', '/../secret.txt', '/%2e%2e/secret.txt']) {
      expect((await pageOf(site.domain, path))[1]).not.toContain('hidden')
    }
    expect((await observed(site)).document_root).toBe(join(directoryOf(site), 'current/public'))
  })

  test('that is refused leaves the one before it served, and nothing behind', async () => {
    const site = await create()
    expect(await deployed(await deploy(site, archiveOf({ 'index.html': 'good' }), 1))).toBe('active')
    const bad = await deploy(site, Buffer.from('not an archive'), 2)
    expect(await deployed(bad)).toBe('failed')
    const [row] = (await panel.services.store.read.select().from(deployments)).filter(({ id }) => id === bad)
    expect(JSON.parse(row?.failure ?? '')).toMatchObject({ code: expect.any(String), retryable: false })
    expect(await pageOf(site.domain)).toEqual([200, 'good'])
    expect(readdirSync(join(directoryOf(site), 'releases'))).toEqual(['1'])
    await until('the archive is gone', () => readdirSync(join(panel.data, 'sites/archives')).length === 0)
  })

  test('without the directory that its site serves is refused, and the one before it stays served', async () => {
    const site = await create({ public_dir: 'web' })
    const good = await deploy(site, archiveOf({ 'web/index.html': 'good' }), 1)
    expect(await deployed(good)).toBe('active')
    for (const [number, files] of [{ 'index.html': 'x' }, { web: 'a file' }, { 'web2/index.html': 'x' }].entries()) {
      const bad = await deploy(site, archiveOf(files), number + 2)
      expect(await deployed(bad)).toBe('failed')
      expect((await panel.get(`/sites/${site.id}/deployments/${bad}`, ada.token)).data).toMatchObject({
        failure: {
          code: 'public_dir_missing',
          message: 'The archive has no directory web, which is the public_dir of the site',
          entry: null,
        },
      })
    }
    expect(await observed(site)).toMatchObject({ status: 'active', failure: null, current_deployment_id: good })
    expect(await pageOf(site.domain)).toEqual([200, 'good'])
    expect(readdirSync(join(directoryOf(site), 'releases'))).toEqual(['1'])
  })

  test('can be gone back to', async () => {
    const site = await create()
    const first = await deploy(site, archiveOf({ 'index.html': 'one' }), 1)
    await deployed(first)
    await deployed(await deploy(site, archiveOf({ 'index.html': 'two' }), 2))
    expect((await panel.post(`/sites/${site.id}/deployments/${first}/activate`, ada.token)).status).toBe(200)
    const { data } = await panel.get<object>(`/sites/${site.id}/deployments/${first}?wait=observed`, ada.token)
    expect(data).toMatchObject({ status: 'active' })
    expect(await pageOf(site.domain)).toEqual([200, 'one'])
    expect(readlinkSync(join(directoryOf(site), 'current'))).toBe('releases/1')
  })

  test('whose archive is not the one that was uploaded is refused', async () => {
    const site = await create()
    const id = await panel.services.writeAs(panelItself, async (tx) => {
      const archive = archiveOf({ 'index.html': 'forged' })
      const [row] = await tx
        .insert(deployments)
        .values({
          siteId: site.id,
          number: 1,
          status: 'unpacking',
          sha256: '0'.repeat(64),
          archiveBytes: archive.length,
          activates: true,
          createdAt: 0,
        })
        .returning()
      mkdirSync(join(panel.data, 'sites/archives'), { recursive: true })
      writeFileSync(join(panel.data, 'sites/archives', `${row?.id}`), archive)
      await desired.announce(tx, subscriptionId)
      return row?.id ?? 0
    })
    expect(await deployed(id)).toBe('failed')
    expect((await pageOf(site.domain))[1]).not.toContain('forged')
  })

  test('whose archive is gone fails, and says to deploy again', async () => {
    const site = await create()
    const id = await deploy(site, archiveOf({ 'index.html': 'x' }), 1)
    // Too late where it was opened already: then it is deployed.
    rmSync(join(panel.data, 'sites/archives', `${id}`), { force: true })
    expect(['failed', 'active']).toContain(await deployed(id))
  })
})

describe('a change', () => {
  test('of the switch is a page that says so, and back', async () => {
    const site = await create()
    await deployed(await deploy(site, archiveOf({ 'index.html': 'here' }), 1))
    await change(site, { enabled: false })
    expect(await observed(site)).toMatchObject({ status: 'disabled' })
    for (const path of ['/', '/index.html', '/x.php', '/.env']) {
      expect((await pageOf(site.domain, path))[0]).toBe(503)
    }
    await change(site, { enabled: true })
    expect(await observed(site)).toMatchObject({ status: 'active' })
    expect(await pageOf(site.domain)).toEqual([200, 'here'])
  })

  test('of the names leaves the old ones free', async () => {
    const site = await create()
    const next = newName()
    await change(site, { domain: next })
    await observed(site)
    expect((await pageOf(next))[0]).toBe(200)
    expect((await pageOf(site.domain))[0]).toBe(404)
    const other = await create({ domain: site.domain })
    await observed(other)
    expect((await pageOf(site.domain))[0]).toBe(200)
  })

  test('to a directory that the release does not have fails, and what was served goes on', async () => {
    const site = await create()
    await deployed(await deploy(site, archiveOf({ 'index.html': 'root', 'web/index.html': 'web' }), 1))
    await change(site, { public_dir: 'dist' })
    expect(await observed(site)).toMatchObject({
      status: 'failed',
      status_reason: 'Release 1 has no directory dist: change public_dir, or deploy it',
      failure: { code: 'public_dir_missing' },
    })
    expect(await pageOf(site.domain)).toEqual([200, 'root'])
    await change(site, { public_dir: 'web' })
    expect(await observed(site)).toMatchObject({ status: 'active', failure: null })
    expect(await pageOf(site.domain)).toEqual([200, 'web'])
  })

  test('to a single-page site gives index.html for unknown paths', async () => {
    const site = await create({ spa: true })
    await deployed(await deploy(site, archiveOf({ 'index.html': 'app' }), 1))
    expect(await pageOf(site.domain, '/some/route')).toEqual([200, 'app'])
  })
})

test('a suspended subscription’s sites are 503, whatever else is wrong with them, and come back', async () => {
  const good = await create()
  await deployed(await deploy(good, archiveOf({ 'index.html': 'good' }), 1))
  const broken = await create()
  await deployed(await deploy(broken, archiveOf({ 'index.html': 'x' }), 1))
  await change(broken, { public_dir: 'nowhere' })
  expect(await observed(broken)).toMatchObject({ status: 'failed' })
  await suspended('suspended')
  for (const site of [good, broken]) {
    expect(await observed(site)).toMatchObject({ status: 'suspended' })
    const response = await panel.site(site.domain)
    expect([response.status, response.headers.has('retry-after')]).toEqual([503, true])
  }
  await suspended('active')
  expect(await observed(good)).toMatchObject({ status: 'active' })
  expect(await observed(broken)).toMatchObject({ status: 'failed' })
  expect(await pageOf(good.domain)).toEqual([200, 'good'])
})

describe('a deleted site', () => {
  const gone = async (site: Site) => {
    expect((await panel.get(`/sites/${site.id}?wait=observed`, ada.token)).status).toBe(404)
    expect((await pageOf(site.domain))[0]).toBe(404)
    expect(existsSync(directoryOf(site))).toBeFalse()
  }
  const trashed = (site: Site) =>
    readdirSync(join(panel.data, 'sites/.trash')).filter((name) => name.startsWith(`${subscriptionId}-${site.id}-`))

  test('is gone with its files, which are in the trash for seven days', async () => {
    const site = await create()
    await deployed(await deploy(site, archiveOf({ 'index.html': 'x' }), 1))
    await panel.delete(`/sites/${site.id}`, ada.token)
    await gone(site)
    const [name = ''] = trashed(site)
    expect(existsSync(join(panel.data, 'sites/.trash', name, 'releases/1/index.html'))).toBeTrue()
    expect(await create({ domain: site.domain })).toMatchObject({ domain: site.domain })
  })

  test.each([
    ['provisioning', async (_: Site) => undefined],
    ['active', observed],
    ['disabled', async (site: Site) => change(site, { enabled: false }).then(() => observed(site))],
    [
      'failed',
      async (site: Site) =>
        deploy(site, archiveOf({ a: 'b' }), 1)
          .then(deployed)
          .then(() => change(site, { public_dir: 'x' }))
          .then(() => observed(site)),
    ],
  ])('goes from the state %s', async (_, bring) => {
    const site = await create()
    await bring(site)
    await panel.delete(`/sites/${site.id}`, ada.token)
    await gone(site)
  })

  test('goes while it is suspended, by an administrator', async () => {
    const site = await create()
    await observed(site)
    await suspended('suspended')
    await panel.delete(`/sites/${site.id}`, await panel.admin())
    await gone(site)
    await suspended('active')
  })

  test('goes with its subscription and with its user', async () => {
    for (const path of ['subscription', 'user'] as const) {
      const carl = await panel.customer()
      const id = await panel.subscription(carl.id)
      const { data: site } = await panel.post<Site>('/sites', carl.token, { domain: newName() })
      await panel.get(`/sites/${site.id}?wait=observed`, carl.token)
      mkdirSync(join(directoryOf(site), 'releases'), { recursive: true })
      const admin = await panel.admin()
      const { status } =
        path === 'user'
          ? await panel.delete(`/admin/users/${carl.id}`, admin)
          : await panel.delete(`/admin/subscriptions/${id}?delete_sites=true`, admin)
      expect(status).toBe(200)
      await until('the end of its files', () => !existsSync(directoryOf(site)))
      expect((await pageOf(site.domain))[0]).toBe(404)
    }
  })
})

describe('what others put there', () => {
  test('stays untouched: directories of no site, files, links', async () => {
    const own = await startPanel({ sitesPort: 0 })
    try {
      const sites = join(own.data, 'sites')
      mkdirSync(join(sites, '4711/releases/1'), { recursive: true })
      mkdirSync(join(sites, 'notes'))
      writeFileSync(join(sites, 'notes/a.txt'), 'mine')
      symlinkSync('/etc', join(sites, 'link'))
      const bob = await own.customer()
      await own.subscription(bob.id)
      const { data: site } = await own.post<Site>('/sites', bob.token, { domain: 'other.example' })
      await own.get(`/sites/${site.id}?wait=observed`, bob.token)
      expect(readdirSync(sites).sort()).toEqual(['4711', 'link', 'notes'])
      expect(existsSync(join(sites, '4711/releases/1'))).toBeTrue()
    } finally {
      await own.stop()
    }
  })
})

/** Ends one panel and starts another on its directory. */
async function restarted(before: Panel): Promise<Panel> {
  await before.stop()
  return startPanel({ sitesPort: 0, data: before.data })
}

test('after a restart everything is served as before, and what was unfinished is finished', async () => {
  const data = newDirectory()
  const before = await startPanel({ sitesPort: 0, data })
  const bob = await before.customer()
  await before.subscription(bob.id)
  const { data: site } = await before.post<Site>('/sites', bob.token, { domain: 'again.example' })
  await before.get(`/sites/${site.id}?wait=observed`, bob.token)
  // As a process that was killed while it unpacked leaves it.
  const releases = join(data, 'sites', `${site.id}`, 'releases')
  mkdirSync(join(releases, '.unpacking-9/half'), { recursive: true })
  const after = await restarted(before)
  try {
    const token = await after.login(bob.email)
    expect((await after.get<Site>(`/sites/${site.id}?wait=observed`, token)).data.status).toBe('active')
    expect((await after.site('again.example')).status).toBe(200)
    await until('the unfinished release is gone', () => !existsSync(join(releases, '.unpacking-9')))
  } finally {
    await after.stop()
    rmSync(data, { recursive: true })
  }
})

test('a panel without a port for sites serves none, says so, and still sees to deletions', async () => {
  const data = newDirectory()
  const before = await startPanel({ sitesPort: 0, data })
  const bob = await before.customer()
  await before.subscription(bob.id)
  const { data: site } = await before.post<Site>('/sites', bob.token, { domain: 'off.example' })
  await before.get(`/sites/${site.id}?wait=observed`, bob.token)
  mkdirSync(join(data, 'sites', `${site.id}`), { recursive: true })
  await before.stop()
  const after = await startPanel({ data })
  await after.services.embedded.start()
  try {
    const token = await after.login(bob.email)
    const { data: shown } = await after.get<Site>(`/sites/${site.id}`, token)
    expect([shown.status, shown.urls]).toEqual(['provisioning', []])
    expect(shown.status_reason).toContain('NCP_SITES_PORT')
    await after.delete(`/sites/${site.id}`, token)
    expect((await after.get(`/sites/${site.id}?wait=observed`, token)).status).toBe(404)
    expect(existsSync(join(data, 'sites', `${site.id}`))).toBeFalse()
  } finally {
    await after.stop()
    rmSync(data, { recursive: true })
  }
})

test('a thousand sites are all served again after a restart', async () => {
  const data = newDirectory()
  const before = await startPanel({ sitesPort: 0, data })
  const bob = await before.customer()
  const subscription = await before.subscription(bob.id, { max_sites: 1000 })
  const domains = Array.from({ length: 1000 }, (_, one) => `many-${one}.example`)
  const { sites } = before.services
  for (const domain of domains) await sites.createFor(operator, subscription, { domain, aliases: [] })
  const after = await restarted(before)
  try {
    const token = await after.login(bob.email)
    for (let active = 0; active < 1000; ) {
      const change = after.services.commits.next(AbortSignal.timeout(1000))
      const found = (await after.get<Site[]>('/sites?limit=1000', token)).data
      expect(found).toHaveLength(1000)
      active = found.filter(({ status }) => status === 'active').length
      await (active < 1000 && change)
    }
    // Those that were active before the restart say so still: only a fetch tells.
    for (const domain of domains) await until(domain, async () => (await after.site(domain)).status === 200)
  } finally {
    await after.stop()
    rmSync(data, { recursive: true })
  }
})
