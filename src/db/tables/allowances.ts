/** Allowances of accounts. Owner: features/account/allowance.ts. */
import { index, primaryKey, table, text, timestamp } from '../columns.ts'
import { userId } from './users.ts'

/** How much of its allowances an account has used up: see `features/account/allowance.ts`. */
export const allowances = table(
  'allowances',
  {
    userId: userId(),
    name: text().notNull(),
    /** When all uses will have been forgotten. */
    emptyAt: timestamp('empty_at').notNull(),
    /** The time of the last use. */
    usedAt: timestamp('used_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.userId, table.name] }), index('allowances_empty_at').on(table.emptyAt)],
)
