/** Activates a deployment that is on its node already: promotes one that was left ready, or goes back to an earlier one. */
import { and, eq } from 'drizzle-orm'
import type { Caller } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { deployments } from '../../../db/tables.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { RecordEvent } from '../events/events.ts'
import type { SiteRef } from '../site-access.ts'
import type { ServeDeployment } from '../sites/serve-deployment.ts'
import type { Serving } from '../sites/serving.ts'
import type { Deployment, FindDeployment } from './find-deployment.ts'

export type ActivateOptions = {
  clock: Clock
  audit: RecordAudit
  writeAs: WriteAs
  find: FindDeployment
  serving: Serving
  recordEvent: RecordEvent
  serveDeployment: ServeDeployment
}

export type Activate = ReturnType<typeof createActivate>

export function createActivate(options: ActivateOptions) {
  const { clock, audit, writeAs, find, serving, recordEvent, serveDeployment } = options

  /**
   * Changes nothing for the deployment that its site is to serve already. Those that are being unpacked are not served by
   * themselves any longer: they were sent before.
   *
   * @returns the deployment as it is until its node has reported
   * @throws AppError `not_found`, `forbidden`, and `conflict` for one that failed or is being unpacked, and for a site that
   * is suspended or being deleted
   */
  return (caller: Caller, ref: SiteRef, id: number): Promise<Deployment> =>
    writeAs(caller, async (tx, caller) => {
      const { site, subscription, deployment } = await find(tx, caller, ref, id)
      if (subscription.status !== 'active') throw new AppError('conflict', 'The subscription is suspended')
      if (site.isDeleting) throw new AppError('conflict', 'The site is being deleted')
      serving.requireDriver(site.nodeId)
      requireActivatable(deployment)
      if (site.deploymentId === id) return deployment
      await tx
        .update(deployments)
        .set({ activates: false })
        .where(and(eq(deployments.siteId, site.id), eq(deployments.status, 'unpacking')))
      const generation = await serveDeployment(tx, site, id)
      const { number } = deployment
      const about = { site: { ...site, generation }, details: { deploymentId: id, number }, at: clock.now() }
      await recordEvent(tx, { ...about, kind: 'deployment.activating' })
      await audit(tx, caller, {
        action: 'deployment.activate',
        accountId: subscription.userId,
        target: { type: 'deployment', id },
        details: { siteId: site.id, number },
      })
      return deployment
    })
}

/** @throws AppError `conflict` */
function requireActivatable({ status }: Deployment): void {
  if (status === 'failed') throw new AppError('conflict', 'The deployment has failed, and there is nothing to serve')
  if (status === 'unpacking') {
    throw new AppError('conflict', 'The deployment is still being unpacked; wait for it with wait=observed')
  }
}
