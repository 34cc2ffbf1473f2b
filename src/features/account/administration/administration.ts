/** What an administrator or the operator can do for a user who cannot get in. */
import type { Actor, Caller } from '../../../core/actor.ts'
import { normalizeEmail } from '../../../core/email.ts'
import type { Queries, ReadStore } from '../../../db/store.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { WriteAs } from '../credentials/write-as.ts'
import type { EmailChange } from '../email/email-change.ts'
import type { Notify } from '../notices.ts'
import type { BothFactors, WithBothFactors } from '../proof/both-factors.ts'
import { forgiveAll } from '../proof/throttle.ts'
import type { TwoFactor } from '../two-factor/two-factor.ts'
import type { RequireManageable } from '../users/users.ts'

export type AdministrationOptions = {
  store: ReadStore
  writeAs: WriteAs
  audit: RecordAudit
  notify: Notify
  withBothFactors: WithBothFactors
  emailChange: EmailChange
  twoFactor: TwoFactor
  requireManageable: RequireManageable
}

export type Administration = ReturnType<typeof createAdministration>

export function createAdministration(options: AdministrationOptions) {
  const { store, writeAs, audit, notify, withBothFactors, emailChange, twoFactor, requireManageable } = options

  /**
   * Does `work` for an administrator who proves both factors. Reasons to refuse are checked before the password too: a
   * right password whose transaction fails would count as an attempt.
   */
  async function prove(
    caller: Caller,
    proof: BothFactors,
    require: (queries: Queries, caller: Caller) => Promise<void>,
    work: (tx: Queries, caller: Caller) => Promise<void>,
  ): Promise<void> {
    await require(store.read, caller)
    await withBothFactors(caller, proof, async (tx, caller) => {
      await require(tx, caller)
      await work(tx, caller)
    })
  }

  return {
    /**
     * Moves the account of a user who lost access to the mailbox, and notifies the old address.
     *
     * @param proof the administrator's own factors
     * @throws AppError `invalid_credentials`, `two_factor_required`, `two_factor_invalid`, `not_found`, `validation_error`
     * for the current address, `conflict` for another user's
     */
    async moveEmail(caller: Caller, userId: number, email: string, proof: BothFactors): Promise<void> {
      const wanted = normalizeEmail(email)
      await prove(
        caller,
        proof,
        async (queries, caller) => {
          await requireManageable(queries, caller, userId, 'move an administrator to another address')
          await emailChange.requireOtherEmail(queries, userId, wanted)
          await emailChange.requireFreeEmail(queries, wanted)
        },
        (tx, caller) => emailChange.replaceWithin(tx, caller, userId, wanted),
      )
    },

    /**
     * Disables two-factor authentication for a user who lost the device, and ends all of the user's sessions.
     *
     * @param proof the administrator's own factors
     * @throws AppError `invalid_credentials`, `two_factor_required`, `two_factor_invalid`, `not_found`, `conflict` if
     * it is off
     */
    async resetTwoFactor(caller: Caller, userId: number, proof: BothFactors): Promise<void> {
      await prove(
        caller,
        proof,
        async (queries, caller) => {
          await requireManageable(queries, caller, userId, 'reset the second factor of an administrator')
          await twoFactor.requireEnrolled(queries, userId)
        },
        async (tx, caller) => {
          await twoFactor.resetWithin(tx, caller, userId)
        },
      )
    },

    /**
     * Lets a throttled user try again from everywhere.
     *
     * @throws AppError `not_found`, `forbidden` if a key with scopes does this for an administrator
     */
    async unlock(actor: Actor, userId: number): Promise<void> {
      await writeAs(actor, async (tx, actor) => {
        // A key that could unlock an administrator again and again would give a guesser unlimited attempts.
        await requireManageable(tx, actor, userId, 'unlock an administrator')
        await forgiveAll(tx, userId)
        await notify(tx, userId, { kind: 'account_unlocked' }, actor)
        await audit(tx, actor, { action: 'auth.unlock', accountId: userId, target: { type: 'user', id: userId } })
      })
    },
  }
}
