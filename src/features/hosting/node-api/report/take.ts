/** Takes the report of a node on another machine: each of its transactions proves the node again. */
import type { NodeActor } from '../../../../core/actor.ts'
import type { Write } from '../../../../db/store.ts'
import type { NodeReport } from '../../../../node/protocol.ts'
import type { TakeSelfReport } from '../../../operation/nodes/self-report.ts'
import type { WriteAsNode } from '../../../operation/nodes/write-as-node.ts'
import type { TakeReport } from '../../sites/observed.ts'

export type TakeNodeReportOptions = { writeAsNode: WriteAsNode; takeSelfReport: TakeSelfReport; takeReport: TakeReport }

export type TakeNodeReport = ReturnType<typeof createTakeNodeReport>

export function createTakeNodeReport({ writeAsNode, takeSelfReport, takeReport }: TakeNodeReportOptions) {
  /** @returns how many entries were ignored. @throws AppError `not_authenticated`, `conflict` for ids that cannot be */
  return async (node: NodeActor, report: NodeReport): Promise<number> => {
    const { node: status, description, ...observed } = report
    const write: Write = (work) => writeAsNode(node, (tx) => work(tx))
    // First: it may be what lets the node have subscriptions at all.
    if (status || description) await write((tx) => takeSelfReport(tx, node.nodeId, { status, description }))
    return takeReport(node.nodeId, observed, write)
  }
}
