/** Nodes: their tokens, and what administrators see of them. */
import type { Module } from '../../../module.ts'
import type { Platform } from '../../../platform.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'
import type { RecordAudit } from '../audit/audit.ts'
import { createNodeCredentials } from './credentials.ts'
import { createNodes } from './nodes.ts'
import { createPlacement } from './placement.ts'
import { adminNodeRoutes, nodeTokenRoutes } from './routes.ts'
import { createTakeSelfReport } from './self-report.ts'
import { createNodeUsage } from './usage.ts'
import { createProveNode, createWriteAsNode } from './write-as-node.ts'

export type NodesNeeds = Platform & { audit: RecordAudit; writeAs: WriteAs; writeSoonAs: WriteAs }

export function nodesModule({ store, clock, epoch, storageLog, audit, writeAs, writeSoonAs }: NodesNeeds) {
  const usage = createNodeUsage({ writeSoonAs, clock, log: storageLog })
  const proveNode = createProveNode(clock)
  const writeAsNode = createWriteAsNode({ writeAs, proveNode })
  const nodes = createNodes({ store, clock, audit, writeAs, writeAsNode, settleUsage: usage.settle })
  return {
    services: {
      nodes,
      proveNode,
      writeAsNode,
      nodeCredentials: createNodeCredentials({ store, clock, record: usage.record }),
      /** Where new subscriptions go. */
      placement: createPlacement(epoch),
      takeSelfReport: createTakeSelfReport({ epoch, clock }),
    },
    routes: ({ guard, nodeGuard }) => [adminNodeRoutes({ guard, nodes }), nodeTokenRoutes({ nodeGuard, nodes })],
    tasks: [
      { everyMs: 60_000, run: usage.flush, log: storageLog, failure: 'when nodes were last seen was not written' },
    ],
    close: usage.flush,
  } satisfies Module
}
