/** Sites and their names. Owner: features/hosting/sites. */
import { createdAt, id, index, integer, table, text, uniqueIndex, updatedAt } from '../columns.ts'
import { subscriptions } from './subscriptions.ts'

export const sites = table(
  'sites',
  {
    id: id(),
    subscriptionId: integer('subscription_id')
      .notNull()
      .references(() => subscriptions.id, { onDelete: 'cascade' }),
    documentRoot: text('document_root').notNull(),
    phpVersion: text('php_version').notNull(),
    status: text({ enum: ['active', 'disabled'] }).notNull(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [index('sites_subscription_id').on(table.subscriptionId)],
)

/** Every host name on the node, domains and aliases alike, so that one unique key covers both. */
export const siteDomains = table(
  'site_domains',
  {
    /** Lower-case, punycode. */
    domain: text().primaryKey(),
    siteId: integer('site_id')
      .notNull()
      .references(() => sites.id, { onDelete: 'cascade' }),
    /** 0 is the site's domain, 1 and up are its aliases in order. */
    position: integer().notNull(),
  },
  (table) => [uniqueIndex('site_domains_site_position').on(table.siteId, table.position)],
)
