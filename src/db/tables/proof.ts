/** What proving a password or a code leaves behind. Owner: features/account/proof. */
import { index, integer, primaryKey, table, text, timestamp } from '../columns.ts'
import { userId } from './users.ts'

/** Addresses that a user has logged in from, or reset the password from: they have allowances of their own. */
export const knownAddresses = table(
  'known_addresses',
  {
    userId: userId(),
    /** As the limits group them: an IPv4 address, or the /64 of an IPv6 one. */
    addressGroup: text('address_group').notNull(),
    /** 0 before the first login. */
    lastLoginAt: timestamp('last_login_at').notNull(),
    /** When a token from a reset email was last redeemed here by a user with two-factor authentication on. */
    resetAt: timestamp('reset_at'),
  },
  (table) => [
    primaryKey({ columns: [table.userId, table.addressGroup] }),
    index('known_addresses_last_login_at').on(table.lastLoginAt),
  ],
)

/** One row: what was asked about an email that nobody has, counted so that it costs what others cost. */
export const strangers = table('strangers', {
  id: integer().primaryKey(),
  failedAttempts: integer('failed_attempts').notNull(),
})
