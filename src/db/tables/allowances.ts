/** Allowances of accounts. Owner: features/account/allowance.ts. */
import { index, primaryKey, table, text, timestamp } from '../columns.ts'
import { userId } from './users.ts'

/** What an account has used up of its allowances: see `features/account/allowance.ts`. */
export const allowances = table(
  'allowances',
  {
    userId: userId(),
    name: text().notNull(),
    /** When all uses will be forgotten. */
    emptyAt: timestamp('empty_at').notNull(),
    /** The time of the last use. */
    usedAt: timestamp('used_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.userId, table.name] }), index('allowances_empty_at').on(table.emptyAt)],
)
