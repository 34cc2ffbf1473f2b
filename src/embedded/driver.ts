/** Serves sites from this process. */
import type { Clock } from '../core/clock.ts'
import type { Log } from '../log/log.ts'
import { type Driver, numbersToKeep, stateOf } from '../node/driver.ts'
import type { DesiredSite } from '../node/protocol.ts'
import type { Releases } from '../node/releases.ts'
import type { SiteCertificates } from '../node/site-certificates.ts'
import { createCheckHealth } from './health.ts'
import type { Prove } from './prove.ts'
import type { ServedSite } from './site.ts'
import type { SiteFiles } from './site-files.ts'
import { rootOf } from './site-root.ts'
import type { LoadedSites } from './table.ts'

export type EmbeddedDriverOptions = {
  /** What the listener serves. */
  loaded: LoadedSites
  files: SiteFiles
  releases: Releases
  /** Absent where no certificates are served. */
  tls?: SiteCertificates
  /** Undefined where nothing listens: then nothing is served, and only deletions are seen to. */
  prove: Prove | undefined
  /** Resolves when what was read is on the disk. */
  durable(): Promise<void> | undefined
  clock: Clock
  log: Log
}

export function createEmbeddedDriver({
  loaded,
  files,
  releases,
  tls,
  prove,
  durable,
  clock,
  log,
}: EmbeddedDriverOptions): Driver {
  const checkHealth = createCheckHealth(files)

  /** What was left behind can wait: the site is served. */
  async function tidy(site: DesiredSite): Promise<void> {
    try {
      await files.keepReleases(site.id, numbersToKeep(site), durable)
    } catch (err) {
      log.warn({ err, site_id: site.id }, 'releases that a site no longer needs were not removed')
    }
  }

  return {
    async serve(subscription, site) {
      if (!prove) return undefined
      const state = stateOf(subscription, site)
      releases.want(subscription.id, site, state === 'serving' ? checkHealth(site) : undefined)
      const wanted = await rootOf(files, site)
      // One that is not to be served needs nothing to serve; another goes on with what was served before.
      if (!wanted.ok && state === 'serving') return { state: 'failed', failure: wanted.failure }
      const root = wanted.ok ? wanted.root : undefined
      const { id, generation, spa } = site
      const served: ServedSite = { id, subscriptionId: subscription.id, generation, state, root, spa }
      if (wanted.ok && site.release !== null && (await files.point(site.id, site.release)) && loaded.get(site.id)) {
        log.info({ site_id: site.id, number: site.release }, 'another release of a site is served')
      }
      loaded.set(served, site.names)
      await requireServed(prove, served, site.names[0] ?? '')
      tls?.want(site)
      await tidy(site)
      return { state, documentRoot: wanted.ok ? wanted.documentRoot : files.siteDirectory(site.id) }
    },

    async remove(subscriptionId, siteId) {
      loaded.remove(siteId)
      await releases.cut(siteId)
      // Keys do not go to the trash.
      await tls?.remove(siteId)
      await files.discard(subscriptionId, siteId, clock.now())
    },

    // Nothing here belongs to a subscription alone.
    removeSubscription: async () => undefined,

    servedSites: async () => loaded.ids(),
    async stopServing(siteId) {
      loaded.remove(siteId)
      await tls?.unload(siteId)
    },
    sitesWithFiles: files.siteIds,
    async stop() {
      await releases.stop()
      await tls?.stop()
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
