/** What deployments mean for their site: whether a node has anything of it, and whether one is on its way. */
import { and, eq } from 'drizzle-orm'
import type { Queries } from '../../../db/store.ts'
import { deployments } from '../../../db/tables.ts'

/** Whether no node has reported on a site, and none has anything to unpack for it. */
export async function isUnseen(
  queries: Queries,
  { id, observedGeneration }: { id: number; observedGeneration: number },
): Promise<boolean> {
  if (observedGeneration > 0) return false
  const [deployment] = await queries
    .select({ id: deployments.id })
    .from(deployments)
    .where(eq(deployments.siteId, id))
    .limit(1)
  return deployment === undefined
}

/** Whether a deployment is being unpacked that will be served then: the generation of the site rises with it. */
export async function isDeploying(queries: Queries, siteId: number): Promise<boolean> {
  const [deployment] = await queries
    .select({ id: deployments.id })
    .from(deployments)
    .where(and(eq(deployments.siteId, siteId), eq(deployments.status, 'unpacking'), eq(deployments.activates, true)))
    .limit(1)
  return deployment !== undefined
}
