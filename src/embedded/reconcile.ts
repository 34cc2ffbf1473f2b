/** Makes what the panel serves equal to what is wanted, again and again, and reports what it sees. */
import type { Clock } from '../core/clock.ts'
import { pause } from '../core/pause.ts'
import type { Log } from '../log/log.ts'
import type { DesiredSite, DesiredSubscription, Failure, NodeLink, NodeReport, SiteReport } from '../node/protocol.ts'
import type { Prove } from './prove.ts'
import type { Releases } from './releases.ts'
import { createRetries } from './retries.ts'
import type { ServedSite } from './site.ts'
import type { SiteFiles } from './site-files.ts'
import { rootOf } from './site-root.ts'
import type { LoadedSites } from './table.ts'

export type ReconcilerOptions = {
  link: NodeLink
  /** What the listener serves. */
  loaded: LoadedSites
  files: SiteFiles
  releases: Releases
  /** Undefined where nothing listens: then nothing is served, and only deletions are seen to. */
  prove: Prove | undefined
  /** Resolves when what was read is on the disk: nothing is deleted for a change that a power cut may undo. */
  durable(): Promise<void> | undefined
  clock: Clock
  log: Log
}

type Work = { subscription: DesiredSubscription; site: DesiredSite }

export type Reconciler = ReturnType<typeof createReconciler>

/** Everything is compared again this often: what someone changed by hand is repaired. */
export const FULL_PASS_MS = 5 * 60 * 1000
/** After a failure of the whole, such as a database that cannot be read. */
const RETRY_MS = 1000
/** Sites seen to at a time. */
const SIDE_BY_SIDE = 8

export function createReconciler(options: ReconcilerOptions) {
  const { link, loaded, files, releases, prove, durable, clock, log } = options
  const stopping = new AbortController()
  /** By site, what was reported last: the same is not reported again. */
  const reported = new Map<number, string>()
  const retries = createRetries<Work>()
  /** Directories that were mentioned in the log. */
  const orphans = new Set<number>()
  let failures = 0
  /** Aborted to begin again with everything. */
  let restart = new AbortController()
  let running: Promise<void> | undefined

  async function serve(subscription: DesiredSubscription, site: DesiredSite): Promise<SiteReport | undefined> {
    if (!prove) return undefined
    const subject = { subscriptionId: subscription.id, siteId: site.id, generation: site.generation }
    const state = stateOf(subscription, site)
    const wanted = await rootOf(files, site)
    // One that is not to be served needs nothing to serve; another goes on with what was served before.
    if (!wanted.ok && state === 'serving') return { ...subject, state: 'failed', failure: wanted.failure }
    const root = wanted.ok ? wanted.root : undefined
    const served: ServedSite = { id: site.id, generation: site.generation, state, root, spa: site.spa }
    if (wanted.ok && site.release !== null && (await files.point(site.id, site.release)) && loaded.get(site.id)) {
      log.info({ site_id: site.id, number: site.release }, 'another release of a site is served')
    }
    loaded.set(served, site.names)
    await requireServed(prove, served, site.names[0] ?? '')
    await tidy(site)
    return { ...subject, state, documentRoot: wanted.ok ? wanted.documentRoot : files.siteDirectory(site.id) }
  }

  /** What was left behind can wait: the site is served. */
  async function tidy(site: DesiredSite): Promise<void> {
    try {
      await files.keepReleases(site.id, numbersToKeep(site), durable)
    } catch (err) {
      log.warn({ err, site_id: site.id }, 'releases that a site no longer needs were not removed')
    }
  }

  async function remove(subscriptionId: number, { id, generation }: DesiredSite): Promise<SiteReport> {
    await durable()
    loaded.remove(id)
    await releases.cut(id)
    await files.discard(subscriptionId, id, clock.now())
    return { subscriptionId, siteId: id, generation, state: 'removed' }
  }

  /** One site that fails stops no other. */
  async function reconcile(work: Work): Promise<SiteReport | undefined> {
    const { subscription, site } = work
    try {
      if (prove && site.state !== 'deleting') releases.want(subscription.id, site)
      const report = await (site.state === 'deleting' ? remove(subscription.id, site) : serve(subscription, site))
      retries.remove(site.id)
      return report
    } catch (err) {
      failures++
      log.error({ err, site_id: site.id }, 'a site could not be made what it should be')
      const failure = failedUntil(clock.now() + retries.add(site.id, work))
      return { subscriptionId: subscription.id, siteId: site.id, generation: site.generation, state: 'failed', failure }
    }
  }

  /** Reports what it sees, and the subscriptions of which nothing is left. */
  async function reconcileAll(works: Work[], subscriptions: DesiredSubscription[] = []): Promise<void> {
    let next = 0
    const reports: SiteReport[] = []
    const work = async () => {
      for (let one = works[next++]; one && !stopping.signal.aborted; one = works[next++]) {
        const report = await reconcile(one)
        if (report) reports.push(report)
      }
    }
    await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work))
    if (stopping.signal.aborted) return
    const left = new Set(reports.filter(({ state }) => state !== 'removed').map(({ subscriptionId }) => subscriptionId))
    const gone = subscriptions.filter(
      ({ id, state, sites }) => state === 'deleting' && sites.every(isDeleting) && !left.has(id),
    )
    await send({ sites: reports, releases: [], removedSubscriptions: gone.map(({ id }) => id) })
  }

  async function send(report: NodeReport): Promise<void> {
    const news = report.sites.filter((site) => reported.get(site.siteId) !== JSON.stringify(site))
    if (news.length === 0 && report.removedSubscriptions.length === 0) return
    await link.report({ ...report, sites: news })
    for (const site of news) {
      if (site.state === 'removed') reported.delete(site.siteId)
      else reported.set(site.siteId, JSON.stringify(site))
    }
  }

  /** Served no more, and kept: only a state that says so deletes. */
  async function forgetOthers(wanted: ReadonlySet<number>): Promise<void> {
    for (const id of loaded.ids()) if (!wanted.has(id)) loaded.remove(id)
    retries.keepOnly(wanted)
    const found = (await files.siteIds()).filter((id) => !wanted.has(id) && !orphans.has(id))
    for (const id of found) orphans.add(id)
    if (found.length > 0) log.warn({ sites: found }, 'directories of sites that no site belongs to; they are kept')
  }

  /** From everything on, until it is told to begin again. */
  async function follow(signal: AbortSignal): Promise<void> {
    let revision = 0
    let seen: Set<number> | undefined = new Set()
    while (!signal.aborted) {
      const changes = await link.changesAfter(revision)
      const { subscriptions } = changes
      await reconcileAll(
        subscriptions.flatMap((subscription) => subscription.sites.map((site) => ({ subscription, site }))),
        subscriptions,
      )
      revision = changes.revision
      for (const { sites } of subscriptions) for (const { id } of sites) seen?.add(id)
      if (changes.hasMore) continue
      if (seen && !signal.aborted) await forgetOthers(seen)
      seen = undefined
      // After what changed: nothing is tried again that is no longer wanted.
      await reconcileAll(retries.due())
      await waitForWork(revision, signal)
    }
  }

  /** Until something changes, or a site is to be tried again. */
  async function waitForWork(revision: number, signal: AbortSignal): Promise<void> {
    const done = new AbortController()
    const either = AbortSignal.any([signal, done.signal])
    const nextMs = retries.nextInMs()
    const timer = nextMs === undefined ? undefined : setTimeout(() => done.abort(), nextMs)
    try {
      await link.waitForChange(revision, either)
    } finally {
      clearTimeout(timer)
    }
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      restart = new AbortController()
      const signal = AbortSignal.any([restart.signal, stopping.signal])
      try {
        await follow(signal)
      } catch (err) {
        log.error({ err }, 'sites could not be reconciled')
        await pause(RETRY_MS, stopping.signal)
      }
    }
  }

  return {
    start(): void {
      running ??= run()
    },

    /** Attempts at a site that failed, since the start. */
    failures: () => failures,

    /** Begins again with everything that is wanted. */
    compareAll: async (): Promise<void> => restart.abort(),

    /** Ends after the sites that are seen to now. What is served stays served. */
    async stop(): Promise<void> {
      stopping.abort()
      await releases.stop()
      await running
    },
  }
}

/** @throws Error where the listener does not show the site as it was loaded */
async function requireServed(prove: Prove, { id, generation, state }: ServedSite, host: string): Promise<void> {
  const seen = await prove(host)
  if (seen.site === id && seen.generation === generation && seen.state === state) return
  throw new Error(
    `${host} is served as ${JSON.stringify(seen)}, not as generation ${generation} of site ${id}, ${state}`,
  )
}

function stateOf(subscription: DesiredSubscription, site: DesiredSite): ServedSite['state'] {
  if (subscription.state === 'suspended') return 'suspended'
  return site.state === 'disabled' ? 'disabled' : 'serving'
}

const isDeleting = ({ state }: DesiredSite) => state === 'deleting'

const numbersToKeep = ({ release, kept, toUnpack }: DesiredSite): Set<string> =>
  new Set([release, ...kept, ...toUnpack.map(({ number }) => number)].map(String))

const failedUntil = (retryAt: number): Failure => ({
  code: 'server_error',
  message:
    'The server could not serve the site; it tries again by itself, and its operator finds the reason in its log',
  retryable: true,
  retryAt,
})
