/** The column types that tables are built from, for SQLite. Another engine would define each differently. */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

export { index, primaryKey, uniqueIndex } from 'drizzle-orm/sqlite-core'
export { integer, text }

export const table = sqliteTable

/** Assigned by the database, and never reused. */
export const id = () => integer().primaryKey({ autoIncrement: true })

export const flag = (name: string) => integer(name, { mode: 'boolean' })

/** Milliseconds since the epoch. */
export const timestamp = (name: string) => integer(name)

export const createdAt = () => timestamp('created_at').notNull()
export const updatedAt = () => timestamp('updated_at').notNull()
