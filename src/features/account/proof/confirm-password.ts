/** Makes the user of a session prove the password before an action that takes over or weakens the account. */
import { and, eq } from 'drizzle-orm'
import type { Caller } from '../../../core/actor.ts'
import { AppError } from '../../../core/errors.ts'
import type { Passwords } from '../../../crypto/passwords.ts'
import type { Queries, ReadStore } from '../../../db/store.ts'
import { users } from '../../../db/tables.ts'
import type { Incidents } from '../../operation/audit/incidents.ts'
import type { Throttle } from './throttle.ts'

type UserRow = typeof users.$inferSelect

/**
 * Requires the password of a logged-in user. The action it protects calls `requireSamePassword` and `forgive` in its
 * transaction.
 *
 * @throws AppError `invalid_credentials` when the password is wrong, or after too many failures
 */
export type ConfirmPassword = (caller: Caller, password: string) => Promise<UserRow>

export type ConfirmPasswordOptions = {
  store: ReadStore
  incidents: Incidents
  passwords: Passwords
  throttle: Throttle
}

export function createConfirmPassword(options: ConfirmPasswordOptions): ConfirmPassword {
  const { store, incidents, passwords, throttle } = options
  return (caller, password) =>
    incidents.watch(caller, { action: 'auth.password_confirm', accountId: caller.userId }, async () => {
      const [user] = await store.read.select().from(users).where(eq(users.id, caller.userId))
      const hash = await passwords.verify(password, 'known', async () => {
        const admitted = await throttle.admitCaller(caller)
        return admitted && user ? user.passwordHash : null
      })
      if (!user || hash === undefined) throw new AppError('invalid_credentials', 'The password is wrong')
      return user
    })
}

/**
 * Runs in the transaction that needed the password, after the hash and the wait for the transaction.
 *
 * @param confirmed the user at the time of the password check
 * @returns the user as of now
 * @throws AppError `conflict` when the password has been changed since
 */
export async function requireSamePassword(tx: Queries, { id, passwordHash }: UserRow): Promise<UserRow> {
  const [user] = await tx
    .select()
    .from(users)
    .where(and(eq(users.id, id), eq(users.passwordHash, passwordHash ?? '')))
  if (!user) throw new AppError('conflict', 'The password was changed while this request was running; log in again')
  return user
}
