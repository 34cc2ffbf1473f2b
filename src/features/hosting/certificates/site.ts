/** A site as its certificates see it. */
import { asc, eq } from 'drizzle-orm'
import type { Queries } from '../../../db/store.ts'
import { siteDomains, sites } from '../../../db/tables.ts'
import type { NodeId } from '../../../node/desired-states.ts'

export type CertifiedSite = {
  id: number
  subscriptionId: number
  /** Null for the panel's own process. */
  nodeId: NodeId
  generation: number
  isDeleting: boolean
  /** The domain, then the aliases. */
  names: string[]
}

export async function readSite(queries: Queries, id: number): Promise<CertifiedSite | undefined> {
  const rows = await queries
    .select({ site: sites, name: siteDomains.domain })
    .from(sites)
    .innerJoin(siteDomains, eq(siteDomains.siteId, sites.id))
    .where(eq(sites.id, id))
    .orderBy(asc(siteDomains.position))
  const [first] = rows
  if (!first) return undefined
  const { subscriptionId, nodeId, generation, isDeleting } = first.site
  return { id, subscriptionId, nodeId, generation, isDeleting, names: rows.map(({ name }) => name) }
}
