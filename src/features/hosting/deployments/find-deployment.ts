/** Finds a deployment and its site, if its caller may see them. */
import { and, eq } from 'drizzle-orm'
import type { Caller } from '../../../core/actor.ts'
import { AppError } from '../../../core/errors.ts'
import type { Queries } from '../../../db/store.ts'
import { deployments } from '../../../db/tables.ts'
import type { SiteAccess, SiteRef } from '../site-access.ts'

export type Deployment = typeof deployments.$inferSelect

export type FindDeployment = ReturnType<typeof createFindDeployment>

export function createFindDeployment(siteAccess: SiteAccess) {
  /** @throws AppError `not_found`, `forbidden` */
  return async (queries: Queries, caller: Caller, ref: SiteRef, id: number) => {
    const found = await siteAccess.find(queries, caller, ref)
    const [deployment] = await queries
      .select()
      .from(deployments)
      .where(and(eq(deployments.id, id), eq(deployments.siteId, found.site.id)))
    if (!deployment) throw new AppError('not_found', 'No such deployment of this site')
    return { ...found, deployment }
  }
}
