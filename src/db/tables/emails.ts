/** Email addresses to be. Owner: features/account/email. */
import { createdAt, integer, table, text, timestamp } from '../columns.ts'
import { users } from './users.ts'

/** New addresses that wait to be proven: one a user, the newest. */
export const emailChanges = table('email_changes', {
  userId: integer('user_id')
    .primaryKey()
    .references(() => users.id, { onDelete: 'cascade' }),
  /** Lower-case. */
  email: text().notNull(),
  /** SHA-256 of the token, in hex. */
  tokenHash: text('token_hash').notNull().unique(),
  /** The user's `updatedAt` when this was asked for: whatever was done to the account since makes it void. */
  userUpdatedAt: timestamp('user_updated_at').notNull().default(0),
  createdAt: createdAt(),
  expiresAt: timestamp('expires_at').notNull(),
})
