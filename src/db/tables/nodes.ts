/** Nodes: other machines that serve sites. Owner: features/operation/nodes. */
import { sql } from 'drizzle-orm'
import { createdAt, id, table, text, timestamp, uniqueIndex } from '../columns.ts'

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
    /** The row stays: subscriptions may still name it. */
    removedAt: timestamp('removed_at'),
  },
  (table) => [uniqueIndex('nodes_name').on(table.name).where(sql`removed_at IS NULL`)],
)
