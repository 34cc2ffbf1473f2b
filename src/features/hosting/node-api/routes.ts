/** `/node/state`, `/node/report` and `/node/archives`: what a node and the panel say to each other. */
import { Elysia } from 'elysia'
import { AppError } from '../../../core/errors.ts'
import { sendFile } from '../../../http/download.ts'
import { envelope } from '../../../http/envelope.ts'
import type { NodeGuard } from '../../../http/node-guard.ts'
import { type NodeCall, nodeOperation } from '../../../http/operation.ts'
import { closed, toInteger } from '../../../http/schema.ts'
import { toWire } from '../../../node/wire.ts'
import type { FindArchive } from '../deployments/find-archive.ts'
import { archiveParams, NodeStateModel, ReportTakenModel, stateQuery } from './model.ts'
import { REPORT_LIMITS, Report, toReport } from './report/model.ts'
import type { TakeNodeReport } from './report/take.ts'
import type { WaitForState } from './state.ts'

const tag = 'Nodes'

const operations = {
  getNodeState: nodeOperation({
    id: 'getNodeState',
    summary: 'Show what the calling node is to do',
    description:
      'What changed after a revision, a subscription at a time, whole, in pages. Absent is never "delete": only what is in the state `deleting` is to be removed.',
    tag,
    query: closed(stateQuery),
    data: NodeStateModel,
  }),
  reportNodeState: nodeOperation({
    id: 'reportNodeState',
    summary: 'Report what the calling node has observed',
    description:
      'About its own sites and subscriptions, and generations that it was sent; other entries are ignored. All of it may be sent again.',
    tag,
    body: Report,
    bodyLimits: REPORT_LIMITS,
    data: ReportTakenModel,
    message: 'Report taken',
    errors: ['conflict'],
  }),
  getArchive: nodeOperation({
    id: 'getArchive',
    summary: 'Download an archive that the calling node has to unpack',
    description: 'That of another node is not found, even with its digest.',
    tag,
    params: archiveParams,
    data: ReportTakenModel,
    download: { description: 'The archive as it was uploaded' },
    errors: ['not_found'],
  }),
}

export type NodeApiRoutesOptions = {
  nodeGuard: NodeGuard
  waitForState: WaitForState
  takeNodeReport: TakeNodeReport
  findArchive: FindArchive
  /** What the panel is known by. */
  identify(): Promise<{ installationId: string; epoch: string }>
}

export function nodeApiRoutes({
  nodeGuard,
  waitForState,
  takeNodeReport,
  findArchive,
  identify,
}: NodeApiRoutesOptions) {
  async function getNodeState({ node, query, context }: NodeCall<typeof operations.getNodeState>) {
    const { after = '0', wait = '0' } = query
    const changes = await waitForState(node, {
      revision: Math.max(0, toInteger(after)),
      patienceMs: 1000 * toInteger(wait),
      gone: context.request.signal,
    })
    return envelope(toWire({ ...(await identify()), ...changes }))
  }

  async function reportNodeState({ node, body }: NodeCall<typeof operations.reportNodeState>) {
    const ignored = await takeNodeReport(node, toReport(body))
    return envelope({ ignored }, operations.reportNodeState.message)
  }

  async function getArchive({ node, params, context }: NodeCall<typeof operations.getArchive>) {
    const path = await findArchive(node.nodeId, params.sha256)
    if (path === undefined) throw noArchive
    return sendFile(context, path)
  }

  return new Elysia({ prefix: '/node' })
    .use(nodeGuard)
    .get('/state', getNodeState, operations.getNodeState)
    .post('/report', reportNodeState, operations.reportNodeState)
    .get('/archives/:sha256', getArchive, operations.getArchive)
}

const noArchive = new AppError('not_found', 'This node has no such archive to unpack')
