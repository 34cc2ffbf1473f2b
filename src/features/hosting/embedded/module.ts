/** The driver `embedded`: the panel itself serves the sites that are on no other node. */
import { closeAll } from '../../../core/close-all.ts'
import { localHost } from '../../../core/loopback.ts'
import { newToken } from '../../../crypto/secret.ts'
import { createEmbeddedDriver } from '../../../embedded/driver.ts'
import { createSiteFetch, type SiteRequest } from '../../../embedded/fetch.ts'
import { openSiteListener, type SiteListener } from '../../../embedded/listener.ts'
import { createProve } from '../../../embedded/prove.ts'
import { createSiteFiles } from '../../../embedded/site-files.ts'
import { createSizes } from '../../../embedded/sizes.ts'
import { createLoadedSites } from '../../../embedded/table.ts'
import { createTraffic } from '../../../embedded/traffic.ts'
import type { Module } from '../../../module.ts'
import type { LogRequests } from '../../../node/log-requests.ts'
import type { NodeLink } from '../../../node/protocol.ts'
import { createReconciler, FULL_PASS_MS, type Reconciler } from '../../../node/reconcile.ts'
import { createReleases } from '../../../node/releases.ts'
import type { Platform } from '../../../platform.ts'
import type { Limits as UnpackLimits } from '../../../unpack/limits.ts'
import { unpack } from '../../../unpack/run.ts'
import type { Serving } from '../sites/serving.ts'

export type EmbeddedNeeds = Platform & {
  serving: Serving
  localLink: NodeLink
  logRequests: LogRequests
  unpackLimits: UnpackLimits
}

/** By the first digit of the status. */
const CLASSES = [undefined, '1xx', '2xx', '3xx', '4xx', '5xx']
/** A line is on the disk this long after its request, and a request in the counts. */
const FLUSH_MS = 1000
const REPORT_MS = 60 * 1000
const MEASURE_MS = 5 * 60 * 1000
const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS
/** How long a deleted site can still be brought back by its operator. */
const TRASH_MS = 7 * DAY_MS

export function embeddedModule(needs: EmbeddedNeeds) {
  const { config, paths, store, storedSettings, clock, deletableBefore, log, storageLog, serving } = needs
  const { localLink: link, logRequests, unpackLimits } = needs
  const loaded = createLoadedSites()
  const files = createSiteFiles({
    sites: paths.sites,
    archives: paths.siteArchives,
    trash: paths.siteTrash,
    logs: paths.siteLogs,
  })
  const traffic = createTraffic({
    directory: paths.siteLogs,
    isServed: (siteId) => loaded.get(siteId) !== undefined,
    link,
    async readRules() {
      const { siteLogDays: days, siteLogAddresses } = await storedSettings.read()
      return { days, shortAddresses: siteLogAddresses === 'shortened' }
    },
    clock,
    log: storageLog,
  })
  const measure = createSizes({ releasesOf: files.releases, siteIds: loaded.ids, link })
  const releases = createReleases({
    files,
    link,
    durable: store.durable,
    log,
    // Links are refused: everything here is served by one user, who may read more than any customer.
    unpack: (archive, release, _, signal) =>
      unpack({ archive, release, limits: unpackLimits, links: 'refuse', signal }),
  })
  const probeToken = newToken()
  const answers = new Map<string, number>()
  let listener: SiteListener | undefined
  let reconciler: Reconciler | undefined

  /** @throws Error when the port is taken */
  function listen(port: number): SiteListener {
    const observe = (request: SiteRequest) => {
      const name = CLASSES[Math.trunc(request.status / 100)] ?? 'other'
      answers.set(name, (answers.get(name) ?? 0) + 1)
      traffic.observe(request)
    }
    const fetch = createSiteFetch({ sites: loaded, isOwnHost: serving.isOwnName, probeToken, log, clock, observe })
    const opened = openSiteListener({ fetch, host: config.sitesHost, port })
    serving.opened(opened.port)
    return opened
  }

  return {
    services: {
      embedded: {
        metrics: { countByState: loaded.countByState, answers, failures: () => reconciler?.failures() ?? 0 },
        /**
         * For the process that serves: opens the port, if one is configured, and begins to make sites what they are to be.
         *
         * @param port undefined: none
         * @returns the listener; undefined where the panel serves no sites
         * @throws Error when the port is taken
         */
        start(port = config.sitesPort): SiteListener | undefined {
          logRequests.answerHere(traffic.read)
          listener = port === undefined ? undefined : listen(port)
          const prove = listener && createProve({ host: localHost(config.sitesHost), port: listener.port }, probeToken)
          const { durable } = store
          const driver = createEmbeddedDriver({ loaded, files, releases, prove, durable, clock, log })
          reconciler = createReconciler({ link, driver, durable, log })
          reconciler.start()
          return listener
        },
      },
    },
    tasks: [
      {
        everyMs: FULL_PASS_MS,
        run: async () => reconciler?.compareAll(),
        log,
        failure: 'sites were not compared with what they are to be',
      },
      {
        everyMs: FLUSH_MS,
        run: traffic.flush,
        log: storageLog,
        failure: 'the access logs of sites were not written',
      },
      {
        everyMs: REPORT_MS,
        run: traffic.report,
        log: storageLog,
        failure: 'requests to sites were not counted; they are counted later',
      },
      {
        everyMs: MEASURE_MS,
        run: measure,
        log: storageLog,
        failure: 'sites were not measured',
      },
      {
        everyMs: HOUR_MS,
        run: traffic.prune,
        log: storageLog,
        failure: 'old logs of sites were not deleted',
      },
      {
        everyMs: HOUR_MS,
        run: (stopping) => files.emptyTrash(deletableBefore() - TRASH_MS, stopping),
        log,
        failure: 'sites that were deleted long ago were not removed from the trash',
      },
    ],
    close: () => closeAll([() => reconciler?.stop(), () => listener?.stop(), traffic.flush, traffic.report]),
  } satisfies Module
}
