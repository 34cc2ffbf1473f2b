/** Deployments of sites. Owner: features/hosting/deployments. */
import { createdAt, flag, id, index, integer, table, text, timestamp, uniqueIndex } from '../columns.ts'
import { sites } from './sites.ts'

/** Uploaded archives, and what became of them. */
export const deployments = table(
  'deployments',
  {
    id: id(),
    siteId: integer('site_id')
      .notNull()
      .references(() => sites.id, { onDelete: 'cascade' }),
    /** Counts a site's deployments, from 1. */
    number: integer().notNull(),
    status: text({ enum: ['unpacking', 'ready', 'active', 'superseded', 'failed'] }).notNull(),
    /** Of the archive, in hex. */
    sha256: text().notNull(),
    /** Of the archive. */
    archiveBytes: integer('archive_bytes').notNull(),
    /** As unpacked, in bytes; null until then. */
    bytes: integer(),
    files: integer(),
    /** JSON: why it failed. */
    failure: text(),
    message: text(),
    commit: text(),
    /** The user who uploaded it; kept when the user is deleted. */
    createdBy: integer('created_by'),
    /** Whether it is served as soon as it is ready. */
    activates: flag('activates').notNull(),
    activatedAt: timestamp('activated_at'),
    createdAt: createdAt(),
  },
  (table) => [
    uniqueIndex('deployments_site_number').on(table.siteId, table.number),
    index('deployments_status').on(table.siteId, table.status),
    index('deployments_sha256').on(table.sha256),
  ],
)
