/** Subscriptions. Owner: features/hosting/subscriptions. */
import { sql } from 'drizzle-orm'
import { createdAt, flag, id, index, integer, table, text, uniqueIndex, updatedAt } from '../columns.ts'
import { nodes } from './nodes.ts'
import { userId } from './users.ts'

export const subscriptions = table(
  'subscriptions',
  {
    id: id(),
    userId: userId(),
    name: text().notNull(),
    status: text({ enum: ['active', 'suspended'] }).notNull(),
    isDefault: flag('is_default').notNull(),
    /** 0 means no limit. */
    maxSites: integer('max_sites').notNull(),
    /** Requests that PHP of a site answers at a time. */
    phpWorkers: integer('php_workers').notNull().default(5),
    /** Of a request to PHP. */
    phpMemoryMb: integer('php_memory_mb').notNull().default(256),
    phpSeconds: integer('php_seconds').notNull().default(60),
    phpUploadMb: integer('php_upload_mb').notNull().default(64),
    /** Of all its files on its node; 0 means no limit. */
    maxDiskBytes: integer('max_disk_bytes').notNull().default(0),
    /** Of one deployment: the archive, and what it becomes unpacked. */
    maxArchiveBytes: integer('max_archive_bytes').notNull().default(536_870_912),
    maxUnpackedBytes: integer('max_unpacked_bytes').notNull().default(2_147_483_648),
    maxFiles: integer('max_files').notNull().default(100_000),
    /** On its node, as last measured, with what was unpacked since; null before. */
    diskBytes: integer('disk_bytes'),
    diskEnforced: text('disk_enforced', { enum: ['kernel', 'measured'] })
      .notNull()
      .default('measured'),
    /** The node that serves its sites; null for the panel's own process. */
    nodeId: integer('node_id').references(() => nodes.id),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    index('subscriptions_user_id').on(table.userId),
    index('subscriptions_node_id').on(table.nodeId),
    uniqueIndex('subscriptions_one_default').on(table.userId).where(sql`is_default = 1`),
  ],
)
