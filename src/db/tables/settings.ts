/** Settings of the installation. Owner: features/operation/settings. */
import { table, text, timestamp } from '../columns.ts'

export const settings = table('settings', {
  key: text().primaryKey(),
  /** JSON. */
  value: text().notNull(),
  updatedAt: timestamp('updated_at').notNull(),
})
