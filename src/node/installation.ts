/** What nodes know this installation by, and the ids that it may still give: they are numbers of users on nodes. */
import { eq } from 'drizzle-orm'
import { one } from '../db/statements.ts'
import type { Queries } from '../db/store.ts'
import { installation } from '../db/tables.ts'

/** A restored backup lacks fewer subscriptions than that. More is a lie, which would use up all ids. */
export const MOST_LOST_SUBSCRIPTIONS = 1_000_000

const ITS_ROW = eq(installation.id, 1)

export const readInstallation = (queries: Queries) => one(queries.select().from(installation).where(ITS_ROW))

/** @returns an id that no subscription has ever had, as far as this database and the nodes know */
export async function takeSubscriptionId(tx: Queries): Promise<number> {
  const { lastSubscriptionId } = await readInstallation(tx)
  const id = lastSubscriptionId + 1
  await tx.update(installation).set({ lastSubscriptionId: id }).where(ITS_ROW)
  return id
}

/**
 * Gives no id up to one that a node has seen: it may have seen subscriptions that a restored database does not know.
 *
 * @returns false for one that cannot be
 */
export async function skipSubscriptionIds(tx: Queries, highest: number): Promise<boolean> {
  const { lastSubscriptionId } = await readInstallation(tx)
  if (highest <= lastSubscriptionId) return true
  if (highest > lastSubscriptionId + MOST_LOST_SUBSCRIPTIONS) return false
  await tx.update(installation).set({ lastSubscriptionId: highest }).where(ITS_ROW)
  return true
}
