/** Takes a node's report: what it observed is written, what it claims of others' sites or of the future is not. */
import { and, eq, ne, sql } from 'drizzle-orm'
import { panelItself } from '../../../core/actor.ts'
import { changesNothing, differences } from '../../../core/changes.ts'
import type { Clock } from '../../../core/clock.ts'
import { nextTurn } from '../../../core/next-turn.ts'
import type { Queries, Write } from '../../../db/store.ts'
import { deployments, sites, subscriptions } from '../../../db/tables.ts'
import { desired, type NodeId } from '../../../node/desired-states.ts'
import type { LogRequests } from '../../../node/log-requests.ts'
import type {
  Failure,
  NodeReport,
  ReleaseReport,
  SiteReport,
  SiteSize,
  SubscriptionSize,
  UsageBatch,
} from '../../../node/protocol.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'
import type { EventKind, RecordEvent } from '../events/events.ts'
import { takeCertificate, takeChallenge } from './observed-certificates.ts'
import { forgetOldDeployments } from './old-deployments.ts'
import { serveDeployment } from './serve-deployment.ts'

type SiteRow = typeof sites.$inferSelect
type DeploymentRow = { site: SiteRow; deployment: typeof deployments.$inferSelect }

/** Sites or releases written in one transaction, for which everyone waits. */
const BATCH = 100

const eventOf = {
  serving: 'site.active',
  suspended: 'site.suspended',
  disabled: 'site.disabled',
  failed: 'site.failed',
} as const satisfies Record<string, EventKind>

/** Counts requests to the sites of a node. */
export type TakeUsage = (nodeId: NodeId, batch: UsageBatch, write?: Write) => Promise<void>

export type TakeReport = ReturnType<typeof createTakeReport>

export type TakeReportOptions = {
  writeAs: WriteAs
  clock: Clock
  recordEvent: RecordEvent
  takeUsage: TakeUsage
  logRequests: LogRequests
}

export function createTakeReport({ writeAs, clock, recordEvent, takeUsage, logRequests }: TakeReportOptions) {
  /** @param take returns false for what is ignored. @returns how many were */
  async function inBatches<T>(
    write: Write,
    all: T[],
    take: (tx: Queries, one: T) => Promise<boolean>,
  ): Promise<number> {
    let ignored = 0
    for (let from = 0; from < all.length; from += BATCH) {
      ignored += await write(async (tx) => {
        let ofBatch = 0
        for (const one of all.slice(from, from + BATCH)) if (!(await take(tx, one))) ofBatch++
        return ofBatch
      })
      await nextTurn()
    }
    return ignored
  }

  async function takeSite(tx: Queries, nodeId: NodeId, report: SiteReport): Promise<boolean> {
    if (!(await desired.isOn(tx, nodeId, report.subscriptionId))) return false
    const [row] = await tx.select().from(sites).where(eq(sites.id, report.siteId))
    // The trigger of `sites` has written down the subscription of one that is gone.
    if (!row) {
      if (report.state === 'removed') await confirmRemoved(tx, report)
      return report.state === 'removed'
    }
    if (row.subscriptionId !== report.subscriptionId || report.generation > row.generation) return false
    if (report.state === 'removed') {
      if (row.isDeleting) await remove(tx, row)
      return row.isDeleting
    }
    // Late, and no mistake of the node.
    if (report.generation >= row.observedGeneration && !row.isDeleting) {
      await noteRepairs(tx, row, report)
      await observe(tx, row, report)
    }
    return true
  }

  /** The site is served as before: nothing else would tell of them. */
  async function noteRepairs(tx: Queries, { id, subscriptionId }: SiteRow, report: SiteReport): Promise<void> {
    const repaired = 'repaired' in report ? (report.repaired ?? []) : []
    if (repaired.length === 0) return
    const site = { id, subscriptionId, generation: report.generation }
    await recordEvent(tx, { site, kind: 'site.repaired', details: { repaired }, at: clock.now() })
  }

  async function observe(tx: Queries, row: SiteRow, report: Exclude<SiteReport, { state: 'removed' }>): Promise<void> {
    const failure = report.state === 'failed' ? JSON.stringify(report.failure) : null
    const documentRoot = report.state === 'failed' ? row.documentRoot : report.documentRoot
    const { id, observed, observedGeneration } = row
    const isNew =
      observed !== report.state ||
      observedGeneration !== report.generation ||
      withoutTime(row.failure) !== withoutTime(failure)
    if (!isNew && row.failure === failure && row.documentRoot === documentRoot) return
    await tx
      .update(sites)
      .set({ observed: report.state, observedGeneration: report.generation, failure, documentRoot })
      .where(eq(sites.id, id))
    if (!isNew) return
    const site = { id, subscriptionId: row.subscriptionId, generation: report.generation }
    await recordEvent(tx, {
      site,
      kind: eventOf[report.state],
      ...(report.state === 'failed' && { details: { ...report.failure } }),
      at: clock.now(),
    })
    if (report.state === 'serving' && report.generation === row.generation) await markServed(tx, row)
  }

  /** The deployment that is served now is the active one, and no other is. */
  async function markServed(tx: Queries, site: SiteRow): Promise<void> {
    if (site.deploymentId === null) return
    const ofSite = eq(deployments.siteId, site.id)
    const [served] = await tx
      .select()
      .from(deployments)
      .where(and(ofSite, eq(deployments.id, site.deploymentId)))
    if (!served || served.status === 'active') return
    await tx
      .update(deployments)
      .set({ status: 'superseded' })
      .where(and(ofSite, eq(deployments.status, 'active'), ne(deployments.id, served.id)))
    await tx
      .update(deployments)
      .set({ status: 'active', activatedAt: clock.now() })
      .where(eq(deployments.id, served.id))
    const details = { deploymentId: served.id, number: served.number }
    await recordEvent(tx, { site, kind: 'deployment.active', details, at: clock.now() })
  }

  async function remove(tx: Queries, site: SiteRow): Promise<void> {
    await tx.delete(sites).where(eq(sites.id, site.id))
    await recordEvent(tx, { site, kind: 'site.deleted', at: clock.now() })
    await confirmRemoved(tx, { subscriptionId: site.subscriptionId, siteId: site.id })
  }

  async function confirmRemoved(
    tx: Queries,
    { subscriptionId, siteId }: Pick<SiteReport, 'subscriptionId' | 'siteId'>,
  ): Promise<void> {
    await desired.confirmSiteRemoved(tx, subscriptionId, siteId)
  }

  async function takeRelease(tx: Queries, nodeId: NodeId, report: ReleaseReport): Promise<boolean> {
    const [row] = await tx
      .select({ site: sites, deployment: deployments })
      .from(deployments)
      .innerJoin(sites, eq(sites.id, deployments.siteId))
      .where(and(eq(deployments.id, report.deploymentId), eq(deployments.siteId, report.siteId)))
    if (!row || !(await desired.isOn(tx, nodeId, row.site.subscriptionId))) return false
    if (row.deployment.status === 'unpacking') await settle(tx, row, report)
    return true
  }

  async function settle(tx: Queries, { site, deployment }: DeploymentRow, report: ReleaseReport): Promise<void> {
    const details = { deploymentId: deployment.id, number: deployment.number }
    const at = clock.now()
    const ofDeployment = eq(deployments.id, deployment.id)
    if (report.state === 'failed') {
      const failure = JSON.stringify(report.failure)
      await tx.update(deployments).set({ status: 'failed', failure }).where(ofDeployment)
      return recordEvent(tx, {
        site,
        kind: 'deployment.failed',
        details: { ...details, ...report.failure },
        at,
      })
    }
    const { files, bytes } = report
    await tx.update(deployments).set({ status: 'ready', files, bytes }).where(ofDeployment)
    // Until it is measured.
    await tx
      .update(subscriptions)
      .set({ diskBytes: sql`coalesce(${subscriptions.diskBytes}, 0) + ${cut(bytes)}` })
      .where(eq(subscriptions.id, site.subscriptionId))
    await recordEvent(tx, { site, kind: 'deployment.ready', details, at })
    // One that was uploaded earlier and took longer does not replace a later one.
    const isNewest = site.deploymentId === null || deployment.id > site.deploymentId
    const serves = deployment.activates && isNewest && !site.isDeleting
    if (serves) await serveDeployment(tx, site, deployment.id)
    const forgotten = await forgetOldDeployments(tx, site.id, serves ? deployment.id : site.deploymentId)
    if (forgotten > 0) await desired.announce(tx, site.subscriptionId)
  }

  async function takeSize(tx: Queries, nodeId: NodeId, { siteId, bytes, files }: SiteSize): Promise<boolean> {
    const [row] = await tx.select().from(sites).where(eq(sites.id, siteId))
    if (!row || !(await desired.isOn(tx, nodeId, row.subscriptionId))) return false
    const size = { diskBytes: cut(bytes), files: cut(files) }
    if (!changesNothing(differences(row, size))) await tx.update(sites).set(size).where(eq(sites.id, siteId))
    return true
  }

  async function takeSubscriptionSize(tx: Queries, nodeId: NodeId, reported: SubscriptionSize): Promise<boolean> {
    const { subscriptionId: id, bytes, enforced } = reported
    const [row] = await tx.select().from(subscriptions).where(eq(subscriptions.id, id))
    if (!row || !(await desired.isOn(tx, nodeId, id))) return false
    const size = { diskBytes: cut(bytes), diskEnforced: enforced === 'kernel' ? enforced : ('measured' as const) }
    if (!changesNothing(differences(row, size)))
      await tx.update(subscriptions).set(size).where(eq(subscriptions.id, id))
    return true
  }

  async function takeRemoved(tx: Queries, nodeId: NodeId, subscriptionId: number): Promise<boolean> {
    if (!(await desired.isOn(tx, nodeId, subscriptionId))) return false
    // One that is there stays with its node, even without a site.
    const [present] = await tx
      .select({ id: subscriptions.id })
      .from(subscriptions)
      .where(eq(subscriptions.id, subscriptionId))
    if (!present) await desired.confirmSubscriptionRemoved(tx, subscriptionId)
    return !present
  }

  const writeAsPanel: Write = (work) => writeAs(panelItself, (tx) => work(tx))

  /**
   * @param nodeId of the node that says so, by its credential
   * @param write proves the node, where it is on another machine
   * @returns how many entries were ignored: they are about nothing on this node, or a generation yet to come
   */
  return async (nodeId: NodeId, report: NodeReport, write: Write = writeAsPanel): Promise<number> => {
    let ignored = await inBatches(write, report.sites, (tx, one) => takeSite(tx, nodeId, one))
    ignored += await inBatches(write, report.releases, (tx, one) => takeRelease(tx, nodeId, one))
    ignored += await inBatches(write, report.challenges ?? [], (tx, one) => takeChallenge(tx, nodeId, one))
    ignored += await inBatches(write, report.certificates ?? [], (tx, one) =>
      takeCertificate(tx, nodeId, one, clock.now(), recordEvent),
    )
    ignored += await inBatches(write, report.removedSubscriptions, (tx, id) => takeRemoved(tx, nodeId, id))
    ignored += await inBatches(write, report.sizes ?? [], (tx, one) => takeSize(tx, nodeId, one))
    ignored += await inBatches(write, report.subscriptionSizes ?? [], (tx, one) =>
      takeSubscriptionSize(tx, nodeId, one),
    )
    if (report.usage) await takeUsage(nodeId, report.usage, write)
    for (const answer of report.logAnswers ?? []) logRequests.answer(nodeId, answer)
    return ignored
  }
}

/** A failure but for the time of the next attempt, which each attempt moves. */
function withoutTime(failure: string | null): string | null {
  if (failure === null) return null
  const { retryAt: _, ...rest }: Failure = JSON.parse(failure)
  return JSON.stringify(rest)
}

/** What a node reports may be anything. */
const cut = (count: number) => Math.min(Math.max(0, Math.trunc(count)), Number.MAX_SAFE_INTEGER)
