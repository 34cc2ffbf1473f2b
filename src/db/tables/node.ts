/** What nodes are to do. Owner: node. */
import { id, index, integer, table, text, uniqueIndex } from '../columns.ts'

/**
 * One row for each subscription, also for a deleted one until its node has confirmed. A change replaces the row, so its
 * revision is greater than all before it, and a node that knows one revision asks for those after it.
 */
export const desiredStates = table(
  'desired_states',
  {
    revision: id(),
    subscriptionId: integer('subscription_id').notNull(),
    /** The node that serves it; null for the panel's own process. */
    nodeId: integer('node_id'),
  },
  (table) => [
    uniqueIndex('desired_states_subscription').on(table.subscriptionId),
    index('desired_states_node').on(table.nodeId, table.revision),
  ],
)

/** Sites whose row is gone and whose files are not yet, by a trigger: no way to delete a site passes by this table. */
export const siteRemovals = table(
  'site_removals',
  {
    siteId: integer('site_id').primaryKey(),
    subscriptionId: integer('subscription_id').notNull(),
  },
  (table) => [index('site_removals_subscription').on(table.subscriptionId)],
)

/** One row, made by its migration: what nodes know the installation by. */
export const installation = table('installation', {
  id: integer().primaryKey(),
  /** Random, for ever: a restored backup has the same. */
  installationId: text('installation_id').notNull(),
  /** No subscription gets an id up to this one: it is the number of a user on a node. */
  lastSubscriptionId: integer('last_subscription_id').notNull(),
})
