/** Says that the environment of a site has changed: to its node, whose PHP starts anew with it, and to its customer. */
import { eq } from 'drizzle-orm'
import type { Queries } from '../../../db/store.ts'
import { sites } from '../../../db/tables.ts'
import { desired } from '../../../node/desired-states.ts'
import { runsPhp } from '../environment-of-php.ts'
import type { RecordEvent } from '../events/events.ts'
import type { SiteRow } from '../site-access.ts'

/** @param names of the variables that are another or gone */
export type ChangeEnvironment = (tx: Queries, site: SiteRow, change: { names: string[]; at: number }) => Promise<void>

export const createChangeEnvironment =
  (recordEvent: RecordEvent): ChangeEnvironment =>
  async (tx, site, { names, at }) => {
    // Where nothing reads it, no node has anything to do.
    const generation = site.generation + (runsPhp(site) ? 1 : 0)
    await tx.update(sites).set({ generation, updatedAt: at }).where(eq(sites.id, site.id))
    if (runsPhp(site)) await desired.announce(tx, site.subscriptionId)
    await recordEvent(tx, { site: { ...site, generation }, kind: 'site.changed', details: { environment: names }, at })
  }
