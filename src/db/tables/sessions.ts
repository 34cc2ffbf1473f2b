/** Sessions. Owner: features/account/session. */
import { createdAt, id, index, table, text, timestamp } from '../columns.ts'
import { userId } from './users.ts'

export const sessions = table(
  'sessions',
  {
    id: id(),
    userId: userId(),
    /** The `jti` of the session's JWT. */
    tokenId: text('token_id').notNull().unique(),
    address: text().notNull(),
    userAgent: text('user_agent').notNull(),
    createdAt: createdAt(),
    lastSeenAt: timestamp('last_seen_at').notNull(),
    expiresAt: timestamp('expires_at').notNull(),
  },
  (table) => [index('sessions_user_id').on(table.userId), index('sessions_expires_at').on(table.expiresAt)],
)
