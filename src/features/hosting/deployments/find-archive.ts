/** Finds the archive that a node has to unpack, by its digest. */
import { and, eq } from 'drizzle-orm'
import type { ReadStore } from '../../../db/store.ts'
import { deployments, sites } from '../../../db/tables.ts'

/** @returns where it lies; undefined where that node has no such archive to unpack, whoever else has */
export type FindArchive = (nodeId: number, sha256: string) => Promise<string | undefined>

export function createFindArchive(store: ReadStore, pathOf: (deploymentId: number) => string): FindArchive {
  return async (nodeId, sha256) => {
    const [row] = await store.read
      .select({ id: deployments.id })
      .from(deployments)
      .innerJoin(sites, eq(sites.id, deployments.siteId))
      .where(and(eq(deployments.sha256, sha256), eq(deployments.status, 'unpacking'), eq(sites.nodeId, nodeId)))
      .limit(1)
    return row && pathOf(row.id)
  }
}
