/** Tables of the whole installation, which belong to no user and refer to no other table. */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** One row: what was asked about an email that nobody has, counted so that it costs what others cost. */
export const strangers = sqliteTable('strangers', {
  id: integer().primaryKey(),
  failedAttempts: integer('failed_attempts').notNull(),
})

export const settings = sqliteTable('settings', {
  key: text().primaryKey(),
  /** JSON. */
  value: text().notNull(),
  updatedAt: integer('updated_at').notNull(),
})
