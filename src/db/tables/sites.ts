/** Sites and their names. Owner: features/hosting/sites. */
import { createdAt, flag, id, index, integer, table, text, uniqueIndex, updatedAt } from '../columns.ts'
import { nodes } from './nodes.ts'
import { subscriptions } from './subscriptions.ts'

export const sites = table(
  'sites',
  {
    id: id(),
    subscriptionId: integer('subscription_id')
      .notNull()
      .references(() => subscriptions.id, { onDelete: 'cascade' }),
    /** That of its subscription, so that a list of sites is read from one table. */
    nodeId: integer('node_id').references(() => nodes.id),
    kind: text({ enum: ['static', 'php'] }).notNull(),
    /** Such as 8.4; null for a static site. */
    phpVersion: text('php_version'),
    /** JSON: directives of PHP that it sets, by their names; null for none. */
    phpSettings: text('php_settings'),
    /** JSON: directories in which no PHP is executed; null for none. */
    noPhpIn: text('no_php_in'),
    /** The customer's own switch. */
    isEnabled: flag('is_enabled').notNull(),
    /** Whether unknown paths give index.html. */
    spa: flag('spa').notNull(),
    /** What is served of a release; null: its directory `public` if it has one, else all of it. */
    publicDir: text('public_dir'),
    /** Must answer 2xx before a deployment is served; null: none. */
    healthPath: text('health_path'),
    /** Asked for, and not yet confirmed by the node. */
    isDeleting: flag('is_deleting').notNull(),
    /** The deployment to serve; null before the first. No foreign key: deployments refer to sites. */
    deploymentId: integer('deployment_id'),
    /** Rises with each change of what the node is to do. */
    generation: integer().notNull(),
    /** The generation that the node last reported on; 0 before its first report. */
    observedGeneration: integer('observed_generation').notNull(),
    /** What the node saw then; null before its first report. */
    observed: text({ enum: ['serving', 'suspended', 'disabled', 'failed'] }),
    /** JSON: why it failed. */
    failure: text(),
    /** Absolute, on the node, as reported. */
    documentRoot: text('document_root'),
    /** On the disk of its node, as last measured; null before. */
    diskBytes: integer('disk_bytes'),
    files: integer(),
    /** JSON: what is shown of its certificates, so that a list needs no other table; null before the first. */
    tls: text(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [index('sites_subscription_id').on(table.subscriptionId), index('sites_node_id').on(table.nodeId)],
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
    /** Its labels from the last to the first, each with a dot: `com.example.www.`, after `com.example.`, the name above it. */
    reversed: text().notNull(),
  },
  (table) => [
    uniqueIndex('site_domains_site_position').on(table.siteId, table.position),
    index('site_domains_reversed').on(table.reversed),
  ],
)
