/** Certificates of sites: ordered from an authority for names that lead here, or uploaded. */
import { panelItself } from '../../../core/actor.ts'
import type { Module } from '../../../module.ts'
import type { Platform } from '../../../platform.ts'
import { createSiteOrder } from '../../../tls/acme/site-order.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { RecordEvent } from '../events/events.ts'
import { createSiteAccess } from '../site-access.ts'
import type { Serving } from '../sites/serving.ts'
import type { SubscriptionScope } from '../subscriptions/scope.ts'
import { createAdvance } from './advance.ts'
import { createCertificates } from './certificates.ts'
import { createChallenges } from './challenges.ts'
import { createCheckNames } from './check-names.ts'
import { forgetOldNames } from './name-states.ts'
import { createOrder } from './order.ts'
import { certificateRoutes } from './routes.ts'
import { createWorker } from './worker.ts'

export type CertificatesNeeds = Platform & {
  audit: RecordAudit
  writeAs: WriteAs
  subscriptionScope: SubscriptionScope
  serving: Serving
  recordEvent: RecordEvent
}

/** Where authorities ask (RFC 8555 §8.3). */
const HTTP_PORT = 80
const HOUR_MS = 60 * 60 * 1000
/** How long a failure is remembered after its name could have been tried again. */
const KEPT_MS = 30 * 24 * HOUR_MS

export function certificatesModule(needs: CertificatesNeeds) {
  const { config, paths, store, clock, log, commits, network, outbound, writeAs, serving } = needs
  const { recordEvent } = needs
  const challenges = createChallenges({ store, writeAs, commits, clock })
  const checkNames = createCheckNames({ challenges, reach: outbound, port: network.httpPort ?? HTTP_PORT })
  const authority = createSiteOrder({
    directoryUrl: config.acmeDirectory,
    email: config.acmeEmail,
    accountKeyPath: paths.acmeAccountKey,
    ca: network.authorityCertificate,
  })
  const order = createOrder({ store, writeAs, commits, clock, log, recordEvent, challenges, authority })
  const advance = createAdvance({
    store,
    writeAs,
    clock,
    log,
    recordEvent,
    checkNames,
    order: serving.isOrdering ? order : undefined,
  })
  const isServedHere = () => serving.of(null).tls !== undefined
  const worker = createWorker({ store, writeAs, commits, clock, log, advance, isServedHere })
  const certificates = createCertificates({
    ...needs,
    recordEvent,
    siteAccess: createSiteAccess(needs.subscriptionScope),
  })
  return {
    services: {
      certificates: {
        ...certificates,
        /** For the process that serves: sees to the certificates of sites from now on. */
        start: worker.start,
        seeToDue: worker.seeToDue,
      },
    },
    routes: ({ guard, answerOnce }) => [certificateRoutes({ guard, certificates, answerOnce })],
    tasks: [
      {
        everyMs: HOUR_MS,
        run: () => writeAs(panelItself, (tx) => forgetOldNames(tx, needs.deletableBefore() - KEPT_MS)),
        log: needs.storageLog,
        failure: 'failures of names that no site has were not deleted',
      },
    ],
    close: worker.stop,
  } satisfies Module
}
