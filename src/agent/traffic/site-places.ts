/** Where the logs of each site lie on a node. */
import { lstatSync } from 'node:fs'
import { rm, rmdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codeOf } from '../../core/error-code.ts'
import type { LogPlace } from '../../site-logs/log-writer.ts'
import { ensureDirectory } from '../directory.ts'
import { logsOf, type NodeLayout, siteOf, uidOf } from '../layout.ts'
import type { SiteOnNode } from '../php-logs.ts'

/** Looking at all sites takes long where there are many. */
const LOOK_MS = 1000

export type SitePlacesOptions = {
  layout: Pick<NodeLayout, 'logs' | 'sites'>
  /** The sites that have files here. */
  sites(): SiteOnNode[]
  elapsedMs(): number
}

export function createSitePlaces({ layout, sites, elapsedMs }: SitePlacesOptions) {
  let owners = new Map<number, number>()
  let lookedAt = Number.NEGATIVE_INFINITY

  function ownerOf(siteId: number): number | undefined {
    if (!owners.has(siteId) && elapsedMs() - lookedAt >= LOOK_MS) {
      owners = new Map(sites().map(({ siteId: id, subscriptionId }) => [id, subscriptionId]))
      lookedAt = elapsedMs()
    }
    return owners.get(siteId)
  }

  return {
    /** @returns where it is made, if it is missing; undefined for a site without files here: it is gone */
    placeOf(siteId: number): LogPlace | undefined {
      const subscriptionId = ownerOf(siteId)
      if (subscriptionId === undefined) return undefined
      if (!lstatSync(siteOf(layout, subscriptionId, siteId), { throwIfNoEntry: false })) {
        owners.delete(siteId)
        return undefined
      }
      const directory = logsOf(layout, subscriptionId, siteId)
      const gid = uidOf(subscriptionId)
      for (const path of [dirname(directory), directory]) ensureDirectory({ path, mode: 0o750, gid })
      return { directory, gid }
    },

    /** All logs of a site, and the directory of its subscription with the last of them. */
    async remove({ subscriptionId, siteId }: SiteOnNode): Promise<void> {
      const directory = logsOf(layout, subscriptionId, siteId)
      await rm(directory, { recursive: true, force: true })
      try {
        await rmdir(dirname(directory))
      } catch (error) {
        if (!['ENOTEMPTY', 'ENOENT'].includes(codeOf(error) ?? '')) throw error
      }
    },
  }
}
