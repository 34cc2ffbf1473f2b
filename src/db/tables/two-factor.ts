/** Recovery codes. Owner: features/account/two-factor. */
import { primaryKey, table, text } from '../columns.ts'
import { userId } from './users.ts'

export const recoveryCodes = table(
  'recovery_codes',
  { userId: userId(), codeHash: text('code_hash').notNull() },
  (table) => [primaryKey({ columns: [table.userId, table.codeHash] })],
)
