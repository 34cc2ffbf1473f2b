/** Tokens for setting a password. Owner: features/account/password. */
import { createdAt, id, index, table, text, timestamp } from '../columns.ts'
import { userId } from './users.ts'

/**
 * Single-use tokens with which a user sets a password: one activation, the newest, and a few resets, so that another
 * request, which any client can make, voids nothing. The first token used voids all.
 */
export const passwordTokens = table(
  'password_tokens',
  {
    id: id(),
    userId: userId(),
    purpose: text({ enum: ['activation', 'reset'] }).notNull(),
    /** SHA-256 of the token, in hex. */
    tokenHash: text('token_hash').notNull().unique(),
    createdAt: createdAt(),
    expiresAt: timestamp('expires_at').notNull(),
  },
  (table) => [
    index('password_tokens_user_purpose').on(table.userId, table.purpose),
    index('password_tokens_expires_at').on(table.expiresAt),
  ],
)
