/** Work that waits for its worker. Owner: jobs. */
import { sql } from 'drizzle-orm'
import { createdAt, id, index, integer, table, text, timestamp, uniqueIndex } from '../columns.ts'

/** A row is gone once its job is done, or no longer worth doing. */
export const jobs = table(
  'jobs',
  {
    id: id(),
    /** Whose worker does it, such as `email`. */
    kind: text().notNull(),
    /** JSON for that worker, its secrets sealed. */
    payload: text().notNull(),
    /** Of one topic one job waits, the newest. */
    topic: text(),
    attempts: integer().notNull().default(0),
    createdAt: createdAt(),
    /** Not done before; put off while a process has the lease, so that no other does it. */
    nextAttemptAt: timestamp('next_attempt_at').notNull(),
    expiresAt: timestamp('expires_at').notNull(),
  },
  (table) => [
    uniqueIndex('jobs_topic').on(table.kind, table.topic),
    index('jobs_next_attempt_at').on(table.kind, table.nextAttemptAt),
    index('jobs_expires_at').on(table.kind, table.expiresAt),
    index('jobs_tried').on(table.kind, table.createdAt).where(sql`attempts > 0`),
  ],
)
