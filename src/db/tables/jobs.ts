/** Jobs waiting for their worker. Owner: jobs. */
import { sql } from 'drizzle-orm'
import { createdAt, id, index, integer, table, text, timestamp, uniqueIndex } from '../columns.ts'

/** A row is deleted once its job is done or no longer worth doing. */
export const jobs = table(
  'jobs',
  {
    id: id(),
    /** The kind of worker that does it, such as `email`. */
    kind: text().notNull(),
    /** JSON for that worker, with secrets sealed. */
    payload: text().notNull(),
    /** Of each topic, only the newest job waits. */
    topic: text(),
    attempts: integer().notNull().default(0),
    createdAt: createdAt(),
    /** Not to be done earlier; postponed while a process holds the lease, so that no other does it. */
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
