/** How much sites are used. Owner: features/hosting/usage. */
import { index, integer, primaryKey, table, text, timestamp } from '../columns.ts'
import { sites } from './sites.ts'

/** Requests by the hour, as nodes have counted them. An hour without any has no row. */
export const siteUsage = table(
  'site_usage',
  {
    siteId: integer('site_id')
      .notNull()
      .references(() => sites.id, { onDelete: 'cascade' }),
    /** Its beginning. */
    hour: timestamp('hour').notNull(),
    requests: integer().notNull(),
    bytes: integer().notNull(),
    /** By the class of their status. */
    informational: integer().notNull(),
    successful: integer().notNull(),
    redirected: integer().notNull(),
    clientErrors: integer('client_errors').notNull(),
    serverErrors: integer('server_errors').notNull(),
  },
  (table) => [primaryKey({ columns: [table.siteId, table.hour] }), index('site_usage_hour').on(table.hour)],
)

/** The last batch of each node that was counted. */
export const usageBatches = table('usage_batches', {
  /** 0 for the panel's own process. */
  nodeId: integer('node_id').primaryKey(),
  batch: text().notNull(),
})
