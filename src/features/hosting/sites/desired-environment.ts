/** What the PHP of sites is to find in its environment. */
import { asc, inArray } from 'drizzle-orm'
import type { SecretBox } from '../../../crypto/secret-box.ts'
import type { Queries } from '../../../db/store.ts'
import { siteVariables } from '../../../db/tables.ts'
import type { Variable } from '../../../node/environment.ts'
import { runsPhp, variableContext } from '../environment-of-php.ts'
import type { SiteRow } from '../site-access.ts'

/** @returns by site, those that have any */
export type ReadEnvironment = (queries: Queries, sites: readonly SiteRow[]) => Promise<Map<number, Variable[]>>

export const createReadEnvironment =
  (secretBox: SecretBox): ReadEnvironment =>
  async (queries, sites) => {
    const ids = sites.filter(runsPhp).map(({ id }) => id)
    const found = new Map<number, Variable[]>()
    if (ids.length === 0) return found
    const rows = await queries
      .select()
      .from(siteVariables)
      .where(inArray(siteVariables.siteId, ids))
      .orderBy(asc(siteVariables.siteId), asc(siteVariables.name))
    for (const { siteId, name, sealed } of rows) {
      const value = secretBox.open(sealed, variableContext(siteId, name))
      found.set(siteId, [...(found.get(siteId) ?? []), { name, value }])
    }
    return found
  }
