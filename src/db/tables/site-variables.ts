/** Environment variables of sites. Owner: features/hosting/environment. */
import { integer, primaryKey, table, text, updatedAt } from '../columns.ts'
import { sites } from './sites.ts'

export const siteVariables = table(
  'site_variables',
  {
    siteId: integer('site_id')
      .notNull()
      .references(() => sites.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    /** The value, sealed for this site and name. */
    sealed: text().notNull(),
    /** Of the value, keyed: it tells whether two are equal, and nothing else. */
    fingerprint: text().notNull(),
    /** Of name and value. */
    bytes: integer().notNull(),
    updatedAt: updatedAt(),
  },
  (table) => [primaryKey({ columns: [table.siteId, table.name] })],
)
