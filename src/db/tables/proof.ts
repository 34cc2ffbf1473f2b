/** Records left by proofs of passwords and codes. Owner: features/account/proof. */
import { index, integer, primaryKey, table, text, timestamp } from '../columns.ts'
import { userId } from './users.ts'

/** Addresses from which a user has logged in or reset the password: they have their own allowances. */
export const knownAddresses = table(
  'known_addresses',
  {
    userId: userId(),
    /** Grouped as for the limits: an IPv4 address, or the /64 of an IPv6 one. */
    addressGroup: text('address_group').notNull(),
    /** 0 before the first login. */
    lastLoginAt: timestamp('last_login_at').notNull(),
    /** When a user with two-factor authentication last redeemed a token from a reset email here. */
    resetAt: timestamp('reset_at'),
  },
  (table) => [
    primaryKey({ columns: [table.userId, table.addressGroup] }),
    index('known_addresses_last_login_at').on(table.lastLoginAt),
  ],
)

/** One row: attempts on unknown emails, counted so that they cost the same as others. */
export const strangers = table('strangers', {
  id: integer().primaryKey(),
  failedAttempts: integer('failed_attempts').notNull(),
})
