/** Forgets the deployments of a site beyond those that are kept; its node removes their releases. */
import { and, desc, eq, inArray } from 'drizzle-orm'
import type { Queries } from '../../../db/store.ts'
import { deployments } from '../../../db/tables.ts'

/** That can be served, the newest. */
const RELEASES = 5
const FAILED = 20
/** Forgotten at a time: each deployment adds one, so that what is left goes with the next. */
const BATCH = 100

/** @param served the deployment that the site is to serve, which stays whatever its age. @returns how many were forgotten */
export async function forgetOldDeployments(tx: Queries, siteId: number, served: number | null): Promise<number> {
  const releases = await beyond(tx, siteId, ['ready', 'active', 'superseded'], RELEASES)
  const failed = await beyond(tx, siteId, ['failed'], FAILED)
  const old = [...releases, ...failed].filter(({ id, status }) => status !== 'active' && id !== served)
  for (const { id } of old) await tx.delete(deployments).where(eq(deployments.id, id))
  return old.length
}

type Status = (typeof deployments.$inferSelect)['status']

function beyond(tx: Queries, siteId: number, statuses: Status[], kept: number) {
  return tx
    .select({ id: deployments.id, status: deployments.status })
    .from(deployments)
    .where(and(eq(deployments.siteId, siteId), inArray(deployments.status, statuses)))
    .orderBy(desc(deployments.id))
    .limit(BATCH)
    .offset(kept)
}
