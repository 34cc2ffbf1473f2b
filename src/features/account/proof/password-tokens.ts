/** The stored tokens with which a user sets a password. */
import { and, eq } from 'drizzle-orm'
import type { Queries } from '../../../db/store.ts'
import { passwordTokens } from '../../../db/tables.ts'

export type NewPasswordToken = Omit<typeof passwordTokens.$inferInsert, 'id'>

export async function addPasswordToken(tx: Queries, token: NewPasswordToken): Promise<void> {
  await tx.insert(passwordTokens).values(token)
}

/** @param purpose undefined for a user's tokens of any purpose */
export async function voidPasswordTokens(
  tx: Queries,
  userId: number,
  purpose?: NewPasswordToken['purpose'],
): Promise<void> {
  const ofUser = eq(passwordTokens.userId, userId)
  await tx
    .delete(passwordTokens)
    .where(purpose === undefined ? ofUser : and(ofUser, eq(passwordTokens.purpose, purpose)))
}
