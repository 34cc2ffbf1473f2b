/** Pending email addresses. Owner: features/account/email. */
import { createdAt, integer, table, text, timestamp } from '../columns.ts'
import { users } from './users.ts'

/** New addresses that have yet to be proven: one per user, the newest. */
export const emailChanges = table('email_changes', {
  userId: integer('user_id')
    .primaryKey()
    .references(() => users.id, { onDelete: 'cascade' }),
  /** Lower-case. */
  email: text().notNull(),
  /** SHA-256 of the token, in hex. */
  tokenHash: text('token_hash').notNull().unique(),
  /** The user's `updatedAt` at the time of the request: any later change to the account voids it. */
  userUpdatedAt: timestamp('user_updated_at').notNull().default(0),
  createdAt: createdAt(),
  expiresAt: timestamp('expires_at').notNull(),
})
