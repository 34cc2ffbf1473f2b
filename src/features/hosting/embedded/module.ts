/** The driver `embedded`: the panel itself serves the sites that are on no other node. */
import { closeAll } from '../../../core/close-all.ts'
import { localHost } from '../../../core/loopback.ts'
import { newToken } from '../../../crypto/secret.ts'
import { createSiteFetch } from '../../../embedded/fetch.ts'
import { openSiteListener, type SiteListener } from '../../../embedded/listener.ts'
import { createProve } from '../../../embedded/prove.ts'
import { createReconciler, FULL_PASS_MS, type Reconciler } from '../../../embedded/reconcile.ts'
import { createReleases } from '../../../embedded/releases.ts'
import { createSiteFiles } from '../../../embedded/site-files.ts'
import { createLoadedSites } from '../../../embedded/table.ts'
import type { Module } from '../../../module.ts'
import type { NodeLink } from '../../../node/protocol.ts'
import type { Platform } from '../../../platform.ts'
import type { Limits as UnpackLimits } from '../../../unpack/limits.ts'
import { unpack } from '../../../unpack/run.ts'
import type { Serving } from '../sites/serving.ts'

export type EmbeddedNeeds = Platform & {
  serving: Serving
  localLink: NodeLink
  unpackLimits: UnpackLimits
}

/** By the first digit of the status. */
const CLASSES = [undefined, '1xx', '2xx', '3xx', '4xx', '5xx']
const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS
/** How long a deleted site can still be brought back by its operator. */
const TRASH_MS = 7 * DAY_MS

export function embeddedModule(needs: EmbeddedNeeds) {
  const { config, paths, store, clock, deletableBefore, log, serving, localLink: link, unpackLimits } = needs
  const loaded = createLoadedSites()
  const files = createSiteFiles({ sites: paths.sites, archives: paths.siteArchives, trash: paths.siteTrash })
  const releases = createReleases({
    files,
    link,
    durable: store.durable,
    log,
    // Links are refused: everything here is served by one user, who may read more than any customer.
    unpack: (archive, release, signal) => unpack({ archive, release, limits: unpackLimits, links: 'refuse', signal }),
  })
  const probeToken = newToken()
  const answers = new Map<string, number>()
  let listener: SiteListener | undefined
  let reconciler: Reconciler | undefined

  /** @throws Error when the port is taken */
  function listen(port: number): SiteListener {
    const observe = ({ status }: { status: number }) => {
      const name = CLASSES[Math.trunc(status / 100)] ?? 'other'
      answers.set(name, (answers.get(name) ?? 0) + 1)
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
          listener = port === undefined ? undefined : listen(port)
          const prove = listener && createProve({ host: localHost(config.sitesHost), port: listener.port }, probeToken)
          reconciler = createReconciler({ link, loaded, files, releases, prove, durable: store.durable, clock, log })
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
        everyMs: HOUR_MS,
        run: (stopping) => files.emptyTrash(deletableBefore() - TRASH_MS, stopping),
        log,
        failure: 'sites that were deleted long ago were not removed from the trash',
      },
    ],
    close: () => closeAll([() => reconciler?.stop(), () => listener?.stop()]),
  } satisfies Module
}
