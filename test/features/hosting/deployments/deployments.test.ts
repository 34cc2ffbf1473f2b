/** Deployments over HTTP: uploaded, listed, numbered, reported on, and kept for a while. */
import { describe, expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { archiveOf, smallArchive } from '../../../harness/archives.ts'
import { storedRows } from '../../../harness/database.ts'
import { usePanel } from '../../../harness/panel.ts'
import { type Deployment, useDeployments } from './world.ts'

const { panel, newSite, upload, list, onDisk, report } = await useDeployments()

const READY = { state: 'ready', files: 1, bytes: 5 }
const failed = (rest: object = {}) => ({
  state: 'failed',
  failure: {
    code: 'link_outside',
    message: 'entry 3, a: the link leads outside',
    retryable: false,
    retryAt: null,
    ...rest,
  },
})

describe('an archive', () => {
  test.each([true, false])('made by GNU tar, compressed %p, is taken as it is', async (gzip) => {
    const place = await newSite()
    const archive = archiveOf({ 'index.html': 'hello', 'a/b.txt': 'b'.repeat(100_000) }, { gzip })
    const query = '?message=Christmas%20hours&commit=36C7D1B'
    const { status, data, headers, message } = await upload(place, {
      query,
      rawBody: archive,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    expect([status, message]).toEqual([201, 'Deployment created'])
    expect(data).toMatchObject({
      number: 1,
      site_id: place.site,
      status: 'unpacking',
      sha256: Bun.SHA256.hash(archive, 'hex'),
      archive_bytes: archive.length,
      bytes: null,
      files: null,
      message: 'Christmas hours',
      commit: '36c7d1b',
      created_by: place.owner.id,
      activated_at: null,
      failure: null,
    })
    expect(headers.get('location')).toBe(`/api/v1${place.path}/${data.id}`)
    const path = join(panel.data, 'sites', 'archives', `${data.id}`)
    expect(new Uint8Array(await Bun.file(path).arrayBuffer())).toEqual(archive)
    expect([statSync(path).mode & 0o777, statSync(join(path, '..')).mode & 0o777]).toEqual([0o600, 0o700])
    expect(await list(place)).toEqual([data])
    expect((await panel.get(`${place.path}/${data.id}`, place.owner.token)).data).toEqual(data)
  })

  test('is numbered by site, listed newest first and in pages', async () => {
    const place = await newSite()
    for (let i = 0; i < 3; i++) await upload(place)
    expect((await list(place)).map(({ number }) => number)).toEqual([3, 2, 1])
    const first = await panel.get<Deployment[]>(`${place.path}?limit=2`, place.owner.token)
    expect(first.data.map(({ number }) => number)).toEqual([3, 2])
    const next = /^<([^>]+)>/.exec(first.headers.get('link') ?? '')?.[1] ?? ''
    const second = await panel.get<Deployment[]>(next, place.owner.token)
    expect([second.data.map(({ number }) => number), second.headers.has('link')]).toEqual([[1], false])
    const other = await newSite()
    expect((await upload(other)).data.number).toBe(1)
  })

  test('may be sent by a key with the scope, bound to the subscription', async () => {
    const place = await newSite()
    const key = await panel.key(place.owner.token, {
      scopes: ['deployments:write'],
      subscription_id: place.subscription,
    })
    expect((await upload(place, { as: key })).status).toBe(201)
    expect((await panel.get(place.path, key)).error).toBe('scope_missing')
  })

  test('sent again with its Idempotency-Key is one deployment; another archive with that key is 409', async () => {
    const place = await newSite()
    const headers = { 'idempotency-key': 'once' }
    const first = await upload(place, { headers })
    const again = await upload(place, { headers })
    expect([again.status, again.data, again.headers.get('idempotent-replayed')]).toEqual([201, first.data, 'true'])
    const other = await upload(place, { headers, rawBody: archiveOf({ 'other.html': 'x' }) })
    expect([other.status, other.error]).toEqual([409, 'conflict'])
    expect(await list(place)).toHaveLength(1)
    expect(onDisk().filter((name) => name.startsWith('.'))).toEqual([])
  })

  test('writes an event of the site and an entry of the audit log', async () => {
    const place = await newSite()
    const { data } = await upload(place)
    type Event = { kind: string; details: object }
    const events = (await panel.get<Event[]>(`/sites/${place.site}/events`, place.owner.token)).data
    expect(events.at(-1)).toMatchObject({
      kind: 'deployment.created',
      details: { deployment_id: data.id, number: 1 },
    })
    const [entry] = (await panel.get<object[]>('/audit-log?action=deployment.create', place.owner.token)).data
    expect(entry).toMatchObject({
      action: 'deployment.create',
      target_type: 'deployment',
      target_id: data.id,
      details: { site_id: place.site, number: 1, sha256: data.sha256, archive_bytes: data.archive_bytes },
    })
  })

  test('is told to the node', async () => {
    const place = await newSite()
    await panel.patch(`/sites/${place.site}`, place.owner.token, { public_dir: 'web' })
    const { data } = await upload(place)
    const { data: later } = await upload(place, { query: '?activate=false' })
    const { subscriptions } = await panel.services.readDesired(null, 0)
    const site = subscriptions.flatMap(({ sites }) => sites).find(({ id }) => id === place.site)
    const toUnpack = { sha256: data.sha256, archiveBytes: data.archive_bytes }
    expect(site).toMatchObject({
      release: null,
      toUnpack: [
        { ...toUnpack, deploymentId: data.id, number: 1, publicDir: 'web' },
        // By the time that it is activated, the site may serve another directory.
        { ...toUnpack, deploymentId: later.id, number: 2, publicDir: null },
      ],
    })
  })
})

describe('what the node reports', () => {
  test('makes a deployment ready, and the one that its site serves', async () => {
    const place = await newSite()
    const first = (await upload(place)).data.id
    await report(place, first, READY)
    expect(await list(place)).toMatchObject([{ status: 'ready', files: 1, bytes: 5 }])
    const site = (
      await panel.get<{ generation: number; current_deployment_id: number }>(`/sites/${place.site}`, place.owner.token)
    ).data
    expect(site.current_deployment_id).toBe(first)
    const serving = {
      subscriptionId: place.subscription,
      siteId: place.site,
      state: 'serving',
      documentRoot: '/srv',
    } as const
    const sites = [{ ...serving, generation: site.generation }]
    await panel.services.takeReport(null, { sites, releases: [], removedSubscriptions: [] })
    expect(await list(place)).toMatchObject([{ status: 'active', activated_at: expect.any(String) }])
  })

  test('leaves it ready where it was not to be activated', async () => {
    const place = await newSite()
    await report(place, (await upload(place, { query: '?activate=false' })).data.id, READY)
    expect(await list(place)).toMatchObject([{ status: 'ready', activated_at: null }])
    const { data } = await panel.get<object>(`/sites/${place.site}`, place.owner.token)
    expect(data).toMatchObject({ current_deployment_id: null, generation: 1 })
  })

  test('makes it failed, with the entry to blame', async () => {
    const place = await newSite()
    await report(place, (await upload(place)).data.id, failed({ entry: 'a', line: 3 }))
    await report(place, (await upload(place)).data.id, failed())
    const failure = { code: 'link_outside', message: 'entry 3, a: the link leads outside' }
    expect(await list(place)).toMatchObject([
      { status: 'failed', failure: { ...failure, entry: null, line: null } },
      { status: 'failed', failure: { ...failure, entry: 'a', line: 3 } },
    ])
  })

  test('about a deployment of another site changes nothing', async () => {
    const place = await newSite()
    const { id } = (await upload(place)).data
    await report(await newSite(), id, failed())
    expect(await list(place)).toMatchObject([{ status: 'unpacking' }])
  })
})

describe('of a site are kept', () => {
  test('five releases and the one that is served, whatever its age', async () => {
    const place = await newSite()
    await report(place, (await upload(place)).data.id, READY)
    for (let i = 0; i < 7; i++) await report(place, (await upload(place, { query: '?activate=false' })).data.id, READY)
    expect((await list(place)).map(({ number }) => number)).toEqual([8, 7, 6, 5, 4, 1])
    const { subscriptions } = await panel.services.readDesired(null, 0)
    const site = subscriptions.flatMap(({ sites }) => sites).find(({ id }) => id === place.site)
    expect(site).toMatchObject({ release: 1, kept: [1, 4, 5, 6, 7, 8], toUnpack: [] })
  })

  test('the last 20 that failed', async () => {
    const place = await newSite()
    for (let i = 0; i < 22; i++) await report(place, (await upload(place)).data.id, failed())
    await report(place, (await upload(place)).data.id, READY)
    expect((await list(place)).map(({ number }) => number)).toEqual(Array.from({ length: 21 }, (_, i) => 23 - i))
  })
})

describe('archives on disk', () => {
  test('go once no node has to unpack them, and what a crash left goes at the start', async () => {
    const place = await newSite()
    const waiting = (await upload(place)).data.id
    const done = (await upload(place)).data.id
    await report(place, done, READY)
    const unfinished = `.upload-${crypto.randomUUID()}`
    for (const name of [unfinished, '999999', 'notes.txt']) {
      await Bun.write(join(panel.data, 'sites', 'archives', name), 'x')
    }
    await panel.services.deployments.removeArchives()
    expect(onDisk()).toContain(`${waiting}`)
    expect(onDisk()).toContain(unfinished)
    for (const name of [`${done}`, '999999']) expect(onDisk()).not.toContain(name)
    await panel.services.removeLeftArchives()
    expect(onDisk()).not.toContain(unfinished)
    // Not ours to delete.
    expect(onDisk()).toContain('notes.txt')
  })

  test('go with a site that is deleted', async () => {
    const place = await newSite()
    const { id } = (await upload(place)).data
    await panel.delete(`/sites/${place.site}`, place.owner.token)
    const removed = { subscriptionId: place.subscription, siteId: place.site, generation: 2, state: 'removed' } as const
    await panel.services.takeReport(null, { sites: [removed], releases: [], removedSubscriptions: [] })
    await panel.services.deployments.removeArchives()
    expect(onDisk()).not.toContain(`${id}`)
  })
})

describe('a deployment is refused', () => {
  test('without a credential, to another customer, to a key without the scope or bound elsewhere', async () => {
    const place = await newSite()
    const other = await newSite()
    const before = onDisk()
    const scoped = await panel.key(place.owner.token, { scopes: ['sites:write', 'deployments:read'] })
    const bound = await panel.key(place.owner.token, { subscription_id: await panel.subscription(place.owner.id) })
    const rows = storedRows(panel)
    expect((await panel.send('POST', place.path, { rawBody: smallArchive() })).status).toBe(401)
    for (const as of [other.owner.token, scoped, bound]) expect((await upload(place, { as })).status).toBe(403)
    expect([storedRows(panel), onDisk()]).toEqual([rows, before])
    for (const path of [place.path, `${place.path}/1`]) {
      expect((await panel.get(path)).status).toBe(401)
      expect((await panel.get(path, other.owner.token)).status).toBe(403)
    }
  })

  test('for a site or a deployment that is not there, or that is elsewhere', async () => {
    const place = await newSite()
    const other = await newSite()
    const { id } = (await upload(other)).data
    const send = (path: string) => panel.send('POST', path, { as: place.owner.token, rawBody: smallArchive() })
    expect((await send('/sites/999999/deployments')).status).toBe(404)
    expect((await send(`${place.path}?subscription_id=${other.subscription}`)).status).toBe(403)
    expect((await panel.get(`${place.path}/${id}`, place.owner.token)).status).toBe(404)
    expect((await panel.get(`${place.path}/999999`, place.owner.token)).status).toBe(404)
  })

  test.each([
    ['?activate=maybe', 'activate: must be one of true, false'],
    ['?commit=36c7d1x', 'commit: must be 1 to 64 hexadecimal digits'],
    [`?commit=${'a'.repeat(65)}`, 'commit: must be 1 to 64 hexadecimal digits'],
    [`?message=${'a'.repeat(501)}`, 'message: must be 1 to 500 characters, without control characters but line breaks'],
    ['?message=%1b[2J', 'message: must be 1 to 500 characters, without control characters but line breaks'],
    ['?activated=false', 'activated: is not a known field'],
  ])('with %s', async (query, message) => {
    const answer = await upload(await newSite(), { query })
    expect([answer.status, answer.message]).toEqual([422, message])
  })

  test('in a suspended subscription, and for a site that is being deleted', async () => {
    const place = await newSite()
    await upload(place)
    const status = (status: string) =>
      panel.admin().then((admin) => panel.patch(`/admin/subscriptions/${place.subscription}`, admin, { status }))
    await status('suspended')
    const suspended = await upload(place)
    expect([suspended.status, suspended.message]).toEqual([409, 'The subscription is suspended'])
    expect(await list(place)).toHaveLength(1)
    await status('active')
    await panel.delete(`/sites/${place.site}`, place.owner.token)
    const deleting = await upload(place)
    expect([deleting.status, deleting.message]).toEqual([409, 'The site is being deleted'])
  })

  test('where ten of the subscription wait already', async () => {
    const place = await newSite()
    for (let i = 0; i < 10; i++) expect((await upload(place)).status).toBe(201)
    const answer = await upload(place)
    expect([answer.status, answer.message]).toEqual([
      409,
      '10 deployments of this subscription wait to be unpacked already',
    ])
    const [first] = (await list(place)).toReversed()
    await report(place, first?.id ?? 0, READY)
    expect((await upload(place)).status).toBe(201)
  })
})

test('is refused by a panel that serves no sites', async () => {
  const idle = await usePanel()
  const ada = await idle.customer()
  await idle.subscription(ada.id)
  const site = (await idle.post<{ id: number }>('/sites', ada.token, { domain: 'a.example' })).data.id
  const path = `/sites/${site}/deployments`
  const answer = await idle.send('POST', path, { as: ada.token, rawBody: smallArchive() })
  expect([answer.status, answer.message]).toEqual([
    409,
    'This server does not serve sites; its operator can switch that on with NCP_SITES_PORT',
  ])
})
