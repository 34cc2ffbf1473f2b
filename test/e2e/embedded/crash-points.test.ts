/** A driver that is killed between any two steps, and started again, ends as one that was never killed. */
import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../../src/core/clock.ts'
import { newToken } from '../../../src/crypto/secret.ts'
import { createEmbeddedDriver } from '../../../src/embedded/driver.ts'
import { createSiteFetch } from '../../../src/embedded/fetch.ts'
import { openSiteListener } from '../../../src/embedded/listener.ts'
import { createProve } from '../../../src/embedded/prove.ts'
import { createSiteFiles } from '../../../src/embedded/site-files.ts'
import { createLoadedSites } from '../../../src/embedded/table.ts'
import { createReconciler } from '../../../src/node/reconcile.ts'
import { createReleases, type Place } from '../../../src/node/releases.ts'
import { unpack } from '../../../src/unpack/run.ts'
import { usePanel } from '../../harness/panel.ts'
import { archiveOf, deployTo, endOf } from '../../harness/site-archives.ts'

type Site = { id: number; subscription_id: number; domain: string; document_root: string }
/** What becomes of each step: called with its name before it, and after it. */
type Watch = (moment: 'before' | 'after', step: string) => void

/** Made once: `tar` and `gzip` are processes of their own. */
const FIRST = archiveOf({ 'index.html': 'one' })
const SECOND = archiveOf({ 'index.html': 'two', 'a/b.txt': 'b' })

const LIMITS = { maxBytes: 1_000_000, maxFiles: 100, maxSeconds: 60 }

const panel = await usePanel()
const { paths, localLink, store, serving, log } = panel.services
/** Kept from garbage collection, which closes what a killed driver has left open. */
const results: unknown[] = []
const running = new Set<() => Promise<void>>()
afterAll(() => Promise.all([...running].map((stop) => stop())))

/** Makes the steps of an object visible, and hangs them all once `isDead` says that their process is gone. */
function watched<T extends object>(
  object: T,
  steps: readonly (keyof T & string)[],
  watch: Watch,
  isDead: () => boolean,
): T {
  const never = new Promise<never>(() => undefined)
  const made: Record<string, unknown> = {}
  for (const step of steps) {
    const real = object[step] as (...args: unknown[]) => Promise<unknown>
    made[step] = async (...args: unknown[]) => {
      watch('before', step)
      if (isDead()) return never
      const result = await real(...args)
      results.push(result)
      watch('after', step)
      return isDead() ? never : result
    }
  }
  return { ...object, ...made }
}

/** The driver on the panel's own database and files, as a process of its own would be. */
function startDriver(watch: Watch = () => undefined, isDead = () => false) {
  const token = newToken()
  const loaded = createLoadedSites()
  const fetchSite = createSiteFetch({ sites: loaded, isOwnHost: () => false, probeToken: token, log })
  const listener = openSiteListener({ fetch: fetchSite, host: '127.0.0.1', port: 0 })
  serving.opened(listener.port)
  const files = watched(
    createSiteFiles({ sites: paths.sites, archives: paths.siteArchives, trash: paths.siteTrash, logs: paths.siteLogs }),
    ['openArchive', 'removeArchive', 'beginRelease', 'finishRelease', 'point', 'keepReleases', 'discard'],
    watch,
    isDead,
  )
  const link = watched(localLink, ['changesAfter', 'report'], watch, isDead)
  const { unpackInto } = watched(
    {
      unpackInto: (archive: number, release: string, _: Place, signal: AbortSignal) =>
        unpack({ archive, release, limits: LIMITS, links: 'refuse', signal }),
    },
    ['unpackInto'],
    watch,
    isDead,
  )
  const { durable } = store
  const releases = createReleases({ files, link, log, durable, unpack: unpackInto })
  const prove = createProve({ host: '127.0.0.1', port: listener.port }, token)
  const driver = createEmbeddedDriver({ loaded, files, releases, prove, durable, clock: systemClock, log })
  const reconciler = createReconciler({ link, driver, durable, log })
  reconciler.start()
  const stop = async () => {
    running.delete(stop)
    // A dead one never ends.
    if (!isDead()) await reconciler.stop()
    await listener.stop()
  }
  running.add(stop)
  return {
    stop,
    page: async (host: string) => {
      const response = await fetch(`http://127.0.0.1:${listener.port}/`, { headers: { host } })
      return [response.status, await response.text()] as const
    },
  }
}

let names = 0

/** A site that is served, with a second release to come, and one with files that is to be deleted. */
async function prepare() {
  const user = await panel.customer()
  await panel.subscription(user.id)
  const create = async () => (await panel.post<Site>('/sites', user.token, { domain: `crash-${++names}.example` })).data
  const [kept, removed] = [await create(), await create()]
  const driver = startDriver()
  for (const site of [kept, removed]) {
    expect(await endOf(panel, await deployTo(panel, site, FIRST, 1))).toBe('active')
  }
  await driver.stop()
  const second = await deployTo(panel, kept, SECOND, 2)
  await panel.delete(`/sites/${removed.id}`, user.token)
  return { user, kept, removed, second }
}

async function expectTheEnd({ user, kept, removed, second }: Awaited<ReturnType<typeof prepare>>): Promise<void> {
  const driver = startDriver()
  expect(await endOf(panel, second)).toBe('active')
  const { data } = await panel.get<Site>(`/sites/${kept.id}?wait=observed`, user.token)
  const directory = join(panel.data, 'sites', `${kept.id}`)
  expect(data).toMatchObject({
    status: 'active',
    current_deployment_id: second,
    document_root: join(directory, 'current'),
  })
  expect(await driver.page(kept.domain)).toEqual([200, 'two'])
  expect(readdirSync(directory).sort()).toEqual(['current', 'releases'])
  expect(readdirSync(join(directory, 'releases')).sort()).toEqual(['1', '2'])
  expect(readlinkSync(join(directory, 'current'))).toBe('releases/2')
  expect(readFileSync(join(directory, 'releases/2/a/b.txt'), 'utf8')).toBe('b')
  expect((await panel.get(`/sites/${removed.id}?wait=observed`, user.token)).status).toBe(404)
  expect((await driver.page(removed.domain))[0]).toBe(404)
  expect(existsSync(join(panel.data, 'sites', `${removed.id}`))).toBeFalse()
  const trash = join(panel.data, 'sites/.trash')
  const [discarded = '', ...more] = readdirSync(trash).filter((name) => name.split('-')[1] === `${removed.id}`)
  expect(more).toEqual([])
  expect(readFileSync(join(trash, discarded, 'releases/1/index.html'), 'utf8')).toBe('one')
  await driver.stop()
}

const STEPS = [
  'changesAfter',
  'openArchive',
  'beginRelease',
  'unpackInto',
  'finishRelease',
  'report',
  'removeArchive',
  'point',
  'keepReleases',
  'discard',
]
/** The first, and the one after it, where a step comes more than once. */
const POINTS = STEPS.flatMap((step) =>
  (['before', 'after'] as const).flatMap((moment) =>
    [1, 2]
      .filter((time) => time === 1 || ['report', 'point'].includes(step))
      .map((time) => [moment, step, time] as const),
  ),
)

describe('killed', () => {
  test.each(POINTS)('%s %s, time %d', async (moment, step, time) => {
    const prepared = await prepare()
    const reached = Promise.withResolvers<void>()
    let times = 0
    let dead = false
    const driver = startDriver(
      (atMoment, atStep) => {
        if (dead || atMoment !== moment || atStep !== step || ++times < time) return
        dead = true
        reached.resolve()
      },
      () => dead,
    )
    await reached.promise
    await driver.stop()
    await expectTheEnd(prepared)
  })
})

test('a site whose directory cannot be used fails alone, and is served once it can', async () => {
  const { user, kept, second } = await prepare()
  const releases = join(panel.data, 'sites', `${kept.id}`, 'releases')
  // A file of someone else where the release is to be unpacked.
  mkdirSync(join(releases, 'unrelated'))
  const { data: other } = await panel.post<Site>('/sites', user.token, { domain: 'well.example' })
  const { data: broken } = await panel.post<Site>('/sites', user.token, { domain: 'broken.example' })
  writeFileSync(join(panel.data, 'sites', `${broken.id}`), 'not a directory')
  const driver = startDriver()
  const number = await deployTo(panel, broken, archiveOf({ 'index.html': 'mended' }), 1)
  expect(await endOf(panel, second)).toBe('active')
  expect((await panel.get(`/sites/${other.id}?wait=observed`, user.token)).data).toMatchObject({ status: 'active' })
  await Bun.file(join(panel.data, 'sites', `${broken.id}`)).delete()
  expect(await endOf(panel, number)).toBe('active')
  expect(await driver.page('broken.example')).toEqual([200, 'mended'])
  expect(existsSync(join(releases, 'unrelated'))).toBeTrue()
  await driver.stop()
})
