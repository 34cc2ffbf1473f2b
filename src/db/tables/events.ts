/** What happened to sites, for people and for scripts that wait. Owner: features/hosting/events. */
import { createdAt, id, index, integer, table, text } from '../columns.ts'
import { subscriptions } from './subscriptions.ts'

export const events = table(
  'events',
  {
    /** Grows in the order of the commits: a reader that has seen one misses none before it. */
    id: id(),
    subscriptionId: integer('subscription_id')
      .notNull()
      .references(() => subscriptions.id, { onDelete: 'cascade' }),
    /** No foreign key: what happened to a site outlives it. */
    siteId: integer('site_id').notNull(),
    /** Such as `site.active`. */
    kind: text().notNull(),
    /** The generation of the site at that time. */
    generation: integer().notNull(),
    /** JSON, by kind. */
    details: text().notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    index('events_subscription').on(table.subscriptionId, table.id),
    index('events_site').on(table.siteId, table.id),
    index('events_created_at').on(table.createdAt),
  ],
)
