/** Sites: the domains that a subscription serves. */
import type { Module } from '../../../module.ts'
import type { NodeId } from '../../../node/desired-states.ts'
import type { LogRequests } from '../../../node/log-requests.ts'
import type { DesiredChanges } from '../../../node/protocol.ts'
import type { Platform } from '../../../platform.ts'
import type { ReadAs, WriteAs } from '../../account/credentials/write-as.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { Placement } from '../../operation/nodes/placement.ts'
import type { RecordEvent } from '../events/events.ts'
import { createSiteAccess } from '../site-access.ts'
import type { SubscriptionScope } from '../subscriptions/scope.ts'
import { refreshTls } from '../tls/summary.ts'
import { createWaitUntilObserved } from '../wait.ts'
import { createChangeEnvironment } from './change-environment.ts'
import { readDesired } from './desired.ts'
import { createReadEnvironment } from './desired-environment.ts'
import { createReadTls } from './desired-tls.ts'
import { createLocalLink } from './link.ts'
import { createTakeReport, type TakeUsage } from './observed.ts'
import { siteRoutes } from './routes.ts'
import { serveDeployment } from './serve-deployment.ts'
import { createServing } from './serving.ts'
import { createSites } from './sites.ts'

export type SitesNeeds = Platform & {
  audit: RecordAudit
  writeAs: WriteAs
  readAs: ReadAs
  subscriptionScope: SubscriptionScope
  takeUsage: TakeUsage
  placement: Placement
  logRequests: LogRequests
  recordEvent: RecordEvent
}

export function sitesModule(needs: SitesNeeds) {
  const {
    config,
    store,
    storedSettings,
    clock,
    pages,
    audit,
    writeAs,
    readAs,
    commits,
    secretBox,
    subscriptionScope,
    recordEvent,
    takeUsage,
    placement,
    logRequests,
  } = needs
  const serving = createServing(config)
  const waitUntilObserved = createWaitUntilObserved(commits)
  const sites = createSites({
    store,
    clock,
    audit,
    writeAs,
    readAs,
    waitUntilObserved,
    recordEvent,
    scope: subscriptionScope,
    siteAccess: createSiteAccess(subscriptionScope),
    serving,
    phpVersionsOf: placement.phpVersionsOf,
  })

  const readers = { readTls: createReadTls({ secretBox, clock }), readEnvironment: createReadEnvironment(secretBox) }
  async function readDesiredOf(nodeId: NodeId, revision: number): Promise<DesiredChanges> {
    const changes = await readDesired(store, nodeId, revision, readers)
    if (nodeId === null) return changes
    const asked = logRequests.take(nodeId)
    const { siteLogDays: days, siteLogAddresses } = await storedSettings.read()
    return {
      ...changes,
      siteLogs: { days, shortAddresses: siteLogAddresses === 'shortened' },
      ...(asked.length > 0 && { logRequests: asked }),
    }
  }

  const takeReport = createTakeReport({ writeAs, clock, recordEvent, takeUsage, logRequests })

  return {
    services: {
      sites,
      serving,
      /** One for all of hosting/: so many requests wait at a time in all. */
      waitUntilObserved,
      refreshTls,
      serveDeployment,
      changeEnvironment: createChangeEnvironment(recordEvent),
      /** For nodes: what they are to do, and what they observed. */
      readDesired: readDesiredOf,
      takeReport,
      /** For the node in this process. */
      localLink: createLocalLink({ store, commits, readDesired: readDesiredOf, takeReport }),
    },
    routes: ({ guard, answerOnce }) => [siteRoutes({ guard, sites, serving, pages, answerOnce })],
  } satisfies Module
}
