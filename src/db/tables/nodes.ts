/** Nodes: other machines that serve sites. Owner: features/operation/nodes. */
import { sql } from 'drizzle-orm'
import { createdAt, id, index, integer, table, text, timestamp, uniqueIndex } from '../columns.ts'

export const nodes = table(
  'nodes',
  {
    id: id(),
    name: text().notNull(),
    /** SHA-256 of the whole token, in hex; null once the node is removed. The token itself is not stored anywhere. */
    tokenHash: text('token_hash').unique(),
    /** The token before the last rotation, which works until `previousValidUntil`. */
    previousTokenHash: text('previous_token_hash').unique(),
    previousValidUntil: timestamp('previous_valid_until'),
    createdAt: createdAt(),
    lastSeenAt: timestamp('last_seen_at'),
    /** How many it serves, counted by triggers: no way to make or delete one passes by them. */
    subscriptions: integer().notNull().default(0),
    /** Since when it gets no new subscriptions; null while it does. */
    drainedAt: timestamp('drained_at'),
    /** The epoch in which it last told the highest id that it has seen; null before it first connects. */
    epoch: text(),
    /** Of the program that it runs, as it says. */
    version: text(),
    /** JSON, as it says: what it can serve. */
    capabilities: text(),
    /** JSON, as it says: why it is held, and what it has that nobody named. */
    status: text(),
    /** How far its clock is ahead of the panel's. */
    clockAheadMs: integer('clock_ahead_ms'),
    /** The row stays: subscriptions may still name it. */
    removedAt: timestamp('removed_at'),
  },
  (table) => [
    uniqueIndex('nodes_name').on(table.name).where(sql`removed_at IS NULL`),
    index('nodes_taking').on(table.epoch).where(sql`removed_at IS NULL AND drained_at IS NULL`),
  ],
)
