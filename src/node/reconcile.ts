/** Makes what is served equal to what is wanted, again and again, and reports what it sees. */
import { pause } from '../core/pause.ts'
import type { Log } from '../log/log.ts'
import type { Driver } from './driver.ts'
import type { Guard } from './guard.ts'
import type { DesiredSite, DesiredSubscription, Failure, Held, NodeLink, SiteReport } from './protocol.ts'
import { createReporter } from './reporter.ts'
import { createRetries } from './retries.ts'

export type ReconcilerOptions = {
  link: NodeLink
  driver: Driver
  /** Of a node that is not the panel itself. */
  guard?: Guard
  /** Resolves when what was read is on the disk: nothing is deleted for a change that a power cut may undo. */
  durable(): Promise<void> | undefined
  log: Log
}

/** Of a site, or of a subscription of which nothing else is left to remove. */
type Work = { subscription: DesiredSubscription; site?: DesiredSite }
type SiteWork = Work & { site: DesiredSite }
type Whole = { installationId: string; epoch: string; revision: number; subscriptions: DesiredSubscription[] }

export type Reconciler = ReturnType<typeof createReconciler>

/** Everything is compared again this often: what someone changed by hand is repaired. */
export const FULL_PASS_MS = 5 * 60 * 1000
/** After a failure of the whole, such as a database that cannot be read. */
const RETRY_MS = 1000
/** Sites seen to at a time. */
const SIDE_BY_SIDE = 8

export function createReconciler({ link, driver, guard, durable, log }: ReconcilerOptions) {
  const stopping = new AbortController()
  const reporter = createReporter(link)
  const retries = createRetries<Work>()
  /** Sites with files that no state names. */
  let orphans: number[] = []
  let failures = 0
  /** Aborted to begin again with everything. */
  let restart = new AbortController()
  let running: Promise<void> | undefined

  async function remove(subscriptionId: number, siteId: number): Promise<{ state: 'removed' }> {
    await durable()
    await driver.remove(subscriptionId, siteId)
    return { state: 'removed' }
  }

  /** One site that fails stops no other. */
  async function reconcile(work: SiteWork): Promise<SiteReport | undefined> {
    const { subscription, site } = work
    const subject = { subscriptionId: subscription.id, siteId: site.id, generation: site.generation }
    try {
      const seen = await (isDeleting(site) ? remove(subscription.id, site.id) : driver.serve(subscription, site))
      retries.remove(keyOf(work))
      return seen && { ...subject, ...seen }
    } catch (err) {
      failures++
      log.error({ err, site_id: site.id }, 'a site could not be made what it should be')
      retries.add(keyOf(work), work)
      return { ...subject, state: 'failed', failure: unexpected }
    }
  }

  /** @returns whether nothing is left of it */
  async function removeSubscription(subscription: DesiredSubscription): Promise<boolean> {
    const { id, state, sites } = subscription
    const key = keyOf({ subscription })
    const hasSites = sites.some((site) => !isDeleting(site) || retries.has(keyOf({ subscription, site })))
    if (state !== 'deleting' || hasSites) {
      retries.remove(key)
      return false
    }
    try {
      await durable()
      await driver.removeSubscription(id)
      retries.remove(key)
      return true
    } catch (err) {
      failures++
      log.error({ err, subscription_id: id }, 'what is left of a subscription could not be removed')
      retries.add(key, { subscription })
      return false
    }
  }

  /** Reports what it sees, and the subscriptions of which nothing is left. */
  async function reconcileAll(works: SiteWork[], subscriptions: Iterable<DesiredSubscription>): Promise<void> {
    let next = 0
    const sites: SiteReport[] = []
    const work = async () => {
      for (let one = works[next++]; one && !stopping.signal.aborted; one = works[next++]) {
        const report = await reconcile(one)
        if (report) sites.push(report)
      }
    }
    await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work))
    if (stopping.signal.aborted) return
    const removedSubscriptions: number[] = []
    for (const one of subscriptions) if (await removeSubscription(one)) removedSubscriptions.push(one.id)
    await reporter.send({ sites, removedSubscriptions })
  }

  async function ensureSubscription(subscription: DesiredSubscription): Promise<void> {
    try {
      await driver.ensureSubscription?.(subscription)
    } catch (err) {
      failures++
      log.error({ err, subscription_id: subscription.id }, 'a subscription could not be made what it should be')
    }
  }

  async function follow(subscriptions: DesiredSubscription[]): Promise<void> {
    await guard?.remember(subscriptions.map(({ id }) => id))
    for (const one of subscriptions) await ensureSubscription(one)
    const works = subscriptions.flatMap((subscription) => subscription.sites.map((site) => ({ subscription, site })))
    await reconcileAll(works, subscriptions)
  }

  async function retry(): Promise<void> {
    const due = retries.due()
    await reconcileAll(due.filter(isOfSite), new Set(due.map(({ subscription }) => subscription)))
  }

  /** Served no more, and kept: only a state that says so deletes. */
  async function forgetOthers(wanted: ReadonlySet<number>): Promise<void> {
    for (const id of await driver.servedSites()) if (!wanted.has(id)) await driver.stopServing(id)
    const found = (await driver.sitesWithFiles()).filter((id) => !wanted.has(id)).sort((one, other) => one - other)
    const unknown = found.filter((id) => !orphans.includes(id))
    if (unknown.length > 0) log.warn({ sites: unknown }, 'directories of sites that no site belongs to; they are kept')
    orphans = found
  }

  /** Everything that is wanted, before any of it is done. */
  async function readWhole(): Promise<Whole> {
    const found = new Map<number, DesiredSubscription>()
    for (let revision = 0; ; ) {
      const { installationId = '', epoch = '', ...page } = await link.changesAfter(revision)
      // One that changed since its page was read comes again, as it is now.
      for (const subscription of page.subscriptions) found.set(subscription.id, subscription)
      revision = page.revision
      if (!page.hasMore) return { installationId, epoch, revision, subscriptions: [...found.values()] }
    }
  }

  async function reasonToHold(whole: Whole, named: ReadonlySet<number>): Promise<Held | null> {
    if (!guard) return null
    const served = await driver.servedSites()
    const absent = served.filter((id) => !named.has(id)).length
    return (await guard.check({ ...whole, served: served.length, absent })) ?? null
  }

  async function reportNode(held: Held | null): Promise<void> {
    if (!guard) return
    const highestSubscriptionId = guard.highestSubscriptionId()
    await reporter.send({ node: { held, orphans, highestSubscriptionId } })
  }

  /** From everything on, until it is to begin again. */
  async function runOnce(signal: AbortSignal): Promise<void> {
    const whole = await readWhole()
    const named = new Set(whole.subscriptions.flatMap(({ sites }) => sites.map(({ id }) => id)))
    const held = await reasonToHold(whole, named)
    if (held) {
      log.error({ held: held.code }, `nothing is changed until 'ncp node accept' is run on this node: ${held.message}`)
      await reportNode(held)
      return guard?.accepted(signal)
    }
    retries.keepOnly(new Set(whole.subscriptions.flatMap(keysOf)))
    await follow(whole.subscriptions)
    if (!signal.aborted) await forgetOthers(named)
    await reportNode(null)
    for (let { revision } = whole; !signal.aborted; ) {
      // After what changed: nothing is tried again that is no longer wanted.
      await retry()
      await waitForWork(revision, signal)
      const changes = await link.changesAfter(revision)
      if ((changes.epoch ?? '') !== whole.epoch) return
      await follow(changes.subscriptions)
      revision = changes.revision
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
        await runOnce(signal)
      } catch (err) {
        // A link that is closed ends its requests, and the process ends soon.
        if (!isAbort(err)) log.error({ err }, 'sites could not be reconciled')
        await pause(RETRY_MS, stopping.signal)
      }
    }
  }

  return {
    start(): void {
      running ??= run()
    },

    /** Attempts that failed, since the start. */
    failures: () => failures,

    /** Begins again with everything that is wanted. */
    compareAll: async (): Promise<void> => restart.abort(),

    /** Ends after the sites that are seen to now. What is served stays served. */
    async stop(): Promise<void> {
      stopping.abort()
      await driver.stop()
      await running
    },
  }
}

const isAbort = (error: unknown) => error instanceof Error && error.name === 'AbortError'
const isDeleting = ({ state }: DesiredSite) => state === 'deleting'
const isOfSite = (work: Work): work is SiteWork => work.site !== undefined

const keyOf = ({ subscription, site }: Work) => (site ? `site ${site.id}` : `subscription ${subscription.id}`)
const keysOf = (subscription: DesiredSubscription) => [
  keyOf({ subscription }),
  ...subscription.sites.map((site) => keyOf({ subscription, site })),
]

/** Without a time of the next attempt, which each attempt would make another report. */
const unexpected: Failure = {
  code: 'server_error',
  message:
    'The server could not serve the site; it tries again by itself, and its operator finds the reason in its log',
  retryable: true,
  retryAt: null,
}
