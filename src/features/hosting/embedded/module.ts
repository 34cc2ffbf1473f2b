/** The driver `embedded`: the panel itself serves the sites that are on no other node. */
import { closeAll } from '../../../core/close-all.ts'
import { localHost } from '../../../core/loopback.ts'
import { newToken } from '../../../crypto/secret.ts'
import { createEmbeddedDriver } from '../../../embedded/driver.ts'
import { createSiteFetch, type SiteRequest } from '../../../embedded/fetch.ts'
import { openSiteListener } from '../../../embedded/listener.ts'
import { createProve } from '../../../embedded/prove.ts'
import { createSiteFiles } from '../../../embedded/site-files.ts'
import { createSizes } from '../../../embedded/sizes.ts'
import { createLoadedSites } from '../../../embedded/table.ts'
import { createChallenges, PANEL } from '../../../embedded/tls/challenges.ts'
import { openSecureListener, type SecureListener } from '../../../embedded/tls/secure-listener.ts'
import { createTraffic } from '../../../embedded/traffic.ts'
import type { Module } from '../../../module.ts'
import { createCertificateKeys } from '../../../node/certificate-keys.ts'
import type { LogRequests } from '../../../node/log-requests.ts'
import type { NodeLink } from '../../../node/protocol.ts'
import { createProveCertificate } from '../../../node/prove-certificate.ts'
import { createReconciler, FULL_PASS_MS, type Reconciler } from '../../../node/reconcile.ts'
import { createReleases } from '../../../node/releases.ts'
import { createSiteCertificates } from '../../../node/site-certificates.ts'
import type { Platform } from '../../../platform.ts'
import { uses } from '../../../system/workarounds.ts'
import type { Limits as UnpackLimits } from '../../../unpack/limits.ts'
import { unpack } from '../../../unpack/run.ts'
import type { Serving } from '../sites/serving.ts'

export type EmbeddedNeeds = Platform & {
  serving: Serving
  localLink: NodeLink
  logRequests: LogRequests
  unpackLimits: UnpackLimits
}

/** The ports on which sites are served, which stop as one. */
export type SiteListeners = {
  port: number
  /** Undefined where sites are not served over HTTPS. */
  tlsPort: number | undefined
  retire(): void
  drain(): Promise<void>
  cut(): Promise<void>
  stop(): Promise<void>
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
  const measure = createSizes({
    releasesOf: files.releases,
    logsOf: traffic.directoryOf,
    trash: paths.siteTrash,
    sites: loaded.all,
    link,
  })
  const releases = createReleases({
    files,
    link,
    durable: store.durable,
    log,
    // Links are refused: everything here is served by one user, who may read more than any customer.
    unpack: (archive, release, { limits }, signal) =>
      unpack({ archive, release, limits: { ...unpackLimits, ...limits }, links: 'refuse', signal }),
  })
  const keys = createCertificateKeys(paths.siteKeys)
  const challenges = createChallenges()
  const probeToken = newToken()
  const answers = new Map<string, number>()
  let listeners: SiteListeners | undefined
  let secure: SecureListener | undefined
  let reconciler: Reconciler | undefined

  const observe = (request: SiteRequest) => {
    const name = CLASSES[Math.trunc(request.status / 100)] ?? 'other'
    answers.set(name, (answers.get(name) ?? 0) + 1)
    traffic.observe(request)
  }
  const fetch = createSiteFetch({
    sites: loaded,
    isOwnHost: serving.isOwnName,
    probeToken,
    challenges,
    secure: { isSecure: (name) => secure?.isSecure(name) ?? false, port: () => secure?.port ?? 0 },
    log,
    clock,
    observe,
  })

  /** @throws Error when the port is taken */
  async function openSecure(port: number): Promise<SecureListener> {
    // Loaded when it is needed; the polyfill first: the bundler keeps the order of two imports, not that of one file's.
    await import('reflect-metadata')
    const { selfSignPlaceholder } = await import('../../../tls/self-sign.ts')
    const placeholder = await selfSignPlaceholder(clock)
    const handsOver = uses(config, 'port-handover')
    return openSecureListener({ fetch, host: config.sitesHost, port, placeholder, handsOver, clock })
  }

  /** @throws Error when a port is taken */
  async function listen(port: number): Promise<SiteListeners> {
    const plain = openSiteListener({ fetch, host: config.sitesHost, port })
    try {
      secure = config.sitesTlsPort === undefined ? undefined : await openSecure(config.sitesTlsPort)
    } catch (error) {
      await plain.stop()
      throw error
    }
    serving.opened(plain.port, secure?.port)
    const both = [plain, ...(secure ? [secure] : [])]
    return {
      port: plain.port,
      tlsPort: secure?.port,
      retire: () => both.forEach((one) => void one.retire()),
      drain: async () => void (await Promise.all(both.map((one) => one.drain()))),
      cut: async () => void (await Promise.all(both.map((one) => one.cut()))),
      stop: async () => void (await Promise.all(both.map((one) => one.stop()))),
    }
  }

  function startReconciler(): void {
    const on = (port: number) => ({ host: localHost(config.sitesHost), port })
    const tls = createSiteCertificates({
      link,
      challenges,
      keys,
      secure: secure && { show: secure.set, prove: createProveCertificate(on(secure.port)) },
      durable: store.durable,
      log,
    })
    const prove = listeners && createProve(on(listeners.port), probeToken)
    const { durable } = store
    const driver = createEmbeddedDriver({ loaded, files, releases, tls, prove, durable, clock, log })
    reconciler = createReconciler({ link, driver, durable, log })
    reconciler.start()
  }

  return {
    services: {
      embedded: {
        metrics: { countByState: loaded.countByState, answers, failures: () => reconciler?.failures() ?? 0 },

        /** Proves a name of the panel itself, where the port for that is the one on which sites are served. */
        async publishOwnChallenge(token: string, answer: string): Promise<() => void> {
          challenges.add(PANEL, token, answer)
          return () => challenges.remove(token)
        },

        /**
         * For the process that serves: opens the ports, if any are configured, and begins to make sites what they are to be.
         *
         * @param port undefined: none
         * @returns the listeners; undefined where the panel serves no sites
         * @throws Error when a port is taken
         */
        async start(port = config.sitesPort): Promise<SiteListeners | undefined> {
          logRequests.answerHere(traffic.read)
          listeners = port === undefined ? undefined : await listen(port)
          startReconciler()
          return listeners
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
    close: () => closeAll([() => reconciler?.stop(), () => listeners?.stop(), traffic.flush, traffic.report]),
  } satisfies Module
}
