/** Users. Owner: features/account, where each part writes its own columns. */
import { sql } from 'drizzle-orm'
import { createdAt, id, index, integer, table, text, timestamp, updatedAt } from '../columns.ts'

export const users = table(
  'users',
  {
    id: id(),
    /** Lower-case; the login identity. */
    email: text().notNull().unique(),
    name: text().notNull(),
    role: text({ enum: ['admin', 'customer'] }).notNull(),
    status: text({ enum: ['active', 'disabled'] }).notNull(),
    /** argon2id in PHC form; null until the user has set a password. */
    passwordHash: text('password_hash'),
    /** Sealed (AES-256-GCM) base32 seed, in force while `totpEnabledAt` is set. */
    totpSecret: text('totp_secret'),
    /** A sealed seed that waits for its first code. */
    totpPendingSecret: text('totp_pending_secret'),
    totpEnabledAt: timestamp('totp_enabled_at'),
    /** The last accepted RFC 6238 time step: each step is accepted once. */
    totpLastStep: integer('totp_last_step').notNull().default(0),
    /** Null until the first login. */
    lastLoginAt: timestamp('last_login_at'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [index('users_administrators').on(table.id).where(sql`role = 'admin'`)],
)

/** A column for rows that are deleted with their user. */
export const userId = () =>
  integer('user_id')
    .notNull()
    .references(() => users.id, { onDelete: 'cascade' })
