/** Deployments: archives that customers upload, for nodes to unpack and serve. */
import type { Module } from '../../../module.ts'
import type { Platform } from '../../../platform.ts'
import { diskSpace } from '../../../system/disk-space.ts'
import type { ReadAs, WriteAs } from '../../account/credentials/write-as.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { RecordEvent } from '../events/events.ts'
import { createSiteAccess } from '../site-access.ts'
import type { ServeDeployment } from '../sites/serve-deployment.ts'
import type { Serving } from '../sites/serving.ts'
import type { SubscriptionScope } from '../subscriptions/scope.ts'
import type { WaitUntilObserved } from '../wait.ts'
import { createActivate } from './activate.ts'
import { createArchives } from './archives.ts'
import { createDeployments } from './deployments.ts'
import { createFindArchive } from './find-archive.ts'
import { createFindDeployment } from './find-deployment.ts'
import { LIMITS } from './limits.ts'
import { createUploadRoom } from './room.ts'
import { deploymentRoutes } from './routes.ts'

export type DeploymentsNeeds = Platform & {
  audit: RecordAudit
  writeAs: WriteAs
  subscriptionScope: SubscriptionScope
  serving: Serving
  recordEvent: RecordEvent
  readAs: ReadAs
  waitUntilObserved: WaitUntilObserved
  serveDeployment: ServeDeployment
}

const HOUR_MS = 60 * 60 * 1000

export function deploymentsModule(needs: DeploymentsNeeds) {
  const { store, clock, paths, config, storageLog, audit, writeAs, readAs } = needs
  const { subscriptionScope, serving, recordEvent, waitUntilObserved, serveDeployment } = needs
  const siteAccess = createSiteAccess(subscriptionScope)
  const find = createFindDeployment(siteAccess)
  const archives = createArchives(paths.siteArchives)
  const room = createUploadRoom({
    limits: LIMITS,
    readFreeBytes: async () => (await diskSpace(config.data)).freeBytes,
  })
  const deployments = createDeployments({
    store,
    clock,
    audit,
    writeAs,
    readAs,
    waitUntilObserved,
    siteAccess,
    find,
    serving,
    recordEvent,
    archives,
    room,
    limits: LIMITS,
  })
  const activate = createActivate({ clock, audit, writeAs, find, serving, recordEvent, serveDeployment })
  return {
    services: {
      deployments,
      /** For nodes. */
      unpackLimits: LIMITS.unpack,
      findArchive: createFindArchive(store, archives.pathOf),
      /** At the start of the panel: what a crash left of uploads, and archives that nobody has to unpack. */
      async removeLeftArchives(): Promise<void> {
        await archives.removeUnfinished()
        await deployments.removeArchives()
      },
    },
    routes: ({ guard, answerOnce, receiveUpload }) => [
      deploymentRoutes({ guard, deployments, activate, answerOnce, receiveUpload }),
    ],
    tasks: [
      { everyMs: HOUR_MS, run: deployments.removeArchives, log: storageLog, failure: 'unused archives not deleted' },
    ],
    /** The listener has cut their connections by now. */
    close: deployments.idle,
  } satisfies Module
}
