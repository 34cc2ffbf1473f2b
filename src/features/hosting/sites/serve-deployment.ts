/** Lets a site serve another deployment, as its next generation. */
import { eq } from 'drizzle-orm'
import type { Queries } from '../../../db/store.ts'
import { sites } from '../../../db/tables.ts'
import { desired } from '../../../node/desired-states.ts'
import type { SiteRow } from '../site-access.ts'

/** Passed to the feature that activates deployments. */
export type ServeDeployment = typeof serveDeployment

/** @returns the new generation */
export async function serveDeployment(tx: Queries, site: SiteRow, deploymentId: number): Promise<number> {
  const generation = site.generation + 1
  await tx.update(sites).set({ deploymentId, generation }).where(eq(sites.id, site.id))
  await desired.announce(tx, site.subscriptionId)
  return generation
}
