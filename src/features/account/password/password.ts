/** Sets passwords: for a user who knows the old one, for the holder of a single-use token, and for the command line. */
import { and, eq, gt } from 'drizzle-orm'
import type { Actor, Caller, UnauthenticatedClient } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { sessionIdOf } from '../../../core/principal.ts'
import { checkPasswordRules } from '../../../crypto/password-rules.ts'
import { normalizePassword, type Passwords } from '../../../crypto/passwords.ts'
import { sha256 } from '../../../crypto/secret.ts'
import type { Queries, ReadStore } from '../../../db/store.ts'
import { emailChanges, passwordTokens, users } from '../../../db/tables.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { Incidents } from '../../operation/audit/incidents.ts'
import type { WriteAs } from '../credentials/write-as.ts'
import type { Notify } from '../notices.ts'
import { type ConfirmPassword, requireSamePassword } from '../proof/confirm-password.ts'
import { invalidToken } from '../proof/mailed-token.ts'
import { voidPasswordTokens } from '../proof/password-tokens.ts'
import type { SecondFactor } from '../proof/second-factor.ts'
import { forgive, forgiveAll, type Throttle } from '../proof/throttle.ts'
import type { Sessions } from '../session/sessions.ts'

export type PasswordOptions = {
  store: ReadStore
  writeAs: WriteAs
  clock: Clock
  audit: RecordAudit
  incidents: Incidents
  passwords: Passwords
  throttle: Throttle
  confirmPassword: ConfirmPassword
  secondFactor: SecondFactor
  endSessions: Sessions['endWithin']
  notify: Notify
  /** Called after a user's password has changed. */
  onChange(userId: number): Promise<void>
}

export type PasswordChange = { currentPassword: string; newPassword: string; totpCode: string | undefined }

export type PasswordService = ReturnType<typeof createPasswordService>

export function createPasswordService(options: PasswordOptions) {
  const { store, writeAs, clock, audit, incidents, passwords, throttle, secondFactor, notify, onChange } = options
  const { confirmPassword, endSessions } = options

  /**
   * Sets the hash and ends what the old password opened. Voids pending password tokens, enrolments and email changes,
   * and notifies the user.
   */
  async function set(tx: Queries, actor: Actor, userId: number, hash: string, keepSessionId?: number): Promise<void> {
    const now = clock.now()
    const changes = { passwordHash: hash, totpPendingSecret: null, updatedAt: now }
    await tx.update(users).set(changes).where(eq(users.id, userId))
    await voidPasswordTokens(tx, userId)
    await tx.delete(emailChanges).where(eq(emailChanges.userId, userId))
    await endSessions(tx, userId, keepSessionId)
    await notify(tx, userId, { kind: 'password_set' }, actor)
  }

  return {
    /**
     * Changes the caller's own password and ends the user's other sessions.
     *
     * @throws AppError `invalid_credentials`, `two_factor_required`, `two_factor_invalid`, `validation_error`,
     * `unavailable`
     */
    async change(caller: Caller, { currentPassword, newPassword, totpCode }: PasswordChange): Promise<void> {
      const { userId } = caller
      const keepSessionId = sessionIdOf(caller)
      const user = await confirmPassword(caller, currentPassword)
      if (normalizePassword(newPassword) === normalizePassword(currentPassword)) {
        throw new AppError('validation_error', 'new_password: must not be the current one')
      }
      await checkPasswordRules('new_password', newPassword, user.email)
      const hash = await passwords.hash(newPassword)
      await writeAs(caller, async (tx, caller) => {
        await requireSamePassword(tx, user)
        await secondFactor.demand(tx, caller, totpCode)
        await set(tx, caller, userId, hash, keepSessionId)
        await forgive(tx, caller)
        await audit(tx, caller, {
          action: 'auth.password_change',
          accountId: userId,
          target: { type: 'user', id: userId },
        })
      })
      await onChange(userId)
    },

    /**
     * Sets a password with an activation or reset token, and ends every session of the user. It logs no one in and
     * leaves 2FA as it is.
     *
     * @throws AppError `validation_error` for a token that is unknown, used or expired, or a password against the rules
     */
    async redeem(client: UnauthenticatedClient, token: string, password: string): Promise<void> {
      const valid = and(eq(passwordTokens.tokenHash, sha256(token)), gt(passwordTokens.expiresAt, clock.now()))
      const refusal = () => invalidToken(incidents, client, 'auth.password_set')
      const [found] = await store.read
        .select({ userId: users.id, email: users.email })
        .from(passwordTokens)
        .innerJoin(users, and(eq(users.id, passwordTokens.userId), eq(users.status, 'active')))
        .where(valid)
      if (!found) throw refusal()
      // A password against the rules costs neither a hash nor the token.
      await checkPasswordRules('password', password, found.email)
      const hash = await passwords.hash(password)
      await writeAs(client, async (tx, client) => {
        const [spent] = await tx.delete(passwordTokens).where(valid).returning()
        const [user] = await tx
          .select({ totpEnabledAt: users.totpEnabledAt })
          .from(users)
          .where(and(eq(users.id, spent?.userId ?? 0), eq(users.status, 'active')))
        if (!spent || !user) throw refusal()
        const { userId, purpose } = spent
        await set(tx, client, userId, hash)
        // The holder of the token owns the account: from here on, strangers cannot lock this address out.
        await throttle.trust(tx, userId, client.origin.group, user.totpEnabledAt !== null)
        await audit(tx, client, {
          action: 'auth.password_set',
          accountId: userId,
          target: { type: 'user', id: userId },
          details: { by: purpose },
        })
      })
      await onChange(found.userId)
    },

    /**
     * Sets a password without its owner and ends every session of the user. For the command line.
     *
     * @throws AppError `validation_error` for a password against the rules
     */
    async replace(actor: Actor, { id, email }: { id: number; email: string }, password: string): Promise<void> {
      await checkPasswordRules('password', password, email)
      const hash = await passwords.hash(password)
      await writeAs(actor, async (tx, actor) => {
        await set(tx, actor, id, hash)
        await forgiveAll(tx, id)
        await audit(tx, actor, { action: 'auth.password_set', accountId: id, target: { type: 'user', id } })
      })
      await onChange(id)
    },
  }
}
