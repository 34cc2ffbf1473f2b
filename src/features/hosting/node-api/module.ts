/** What nodes on other machines ask of the panel, and tell it. */
import type { Module } from '../../../module.ts'
import { readInstallation } from '../../../node/installation.ts'
import type { LogRequests } from '../../../node/log-requests.ts'
import type { Platform } from '../../../platform.ts'
import type { TakeSelfReport } from '../../operation/nodes/self-report.ts'
import type { ProveNode, WriteAsNode } from '../../operation/nodes/write-as-node.ts'
import type { FindArchive } from '../deployments/find-archive.ts'
import type { ReadDesired } from '../sites/desired.ts'
import type { TakeReport } from '../sites/observed.ts'
import { createTakeNodeReport } from './report/take.ts'
import { nodeApiRoutes } from './routes.ts'
import { createWaitForState } from './state.ts'

export type NodeApiNeeds = Platform & {
  proveNode: ProveNode
  writeAsNode: WriteAsNode
  takeSelfReport: TakeSelfReport
  readDesired: ReadDesired
  takeReport: TakeReport
  findArchive: FindArchive
  logRequests: LogRequests
}

export function nodeApiModule(needs: NodeApiNeeds) {
  const { store, commits, epoch, proveNode, readDesired, logRequests, findArchive } = needs
  const { writeAsNode, takeSelfReport, takeReport } = needs
  const { durable } = store
  const waitForState = createWaitForState({ store, commits, readDesired, proveNode, logRequests, durable })
  const takeNodeReport = createTakeNodeReport({ writeAsNode, takeSelfReport, takeReport })

  async function identify() {
    const { installationId } = await readInstallation(store.read)
    return { installationId, epoch: epoch() }
  }

  return {
    services: {},
    routes: ({ nodeGuard }) => [nodeApiRoutes({ nodeGuard, waitForState, takeNodeReport, findArchive, identify })],
  } satisfies Module
}
