/** Two-factor authentication: enrolment in two steps, recovery codes, and disabling it. */
import { and, eq, isNull } from 'drizzle-orm'
import { renderSVG } from 'uqr'
import type { Actor, Caller } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { type Role, sessionIdOf } from '../../../core/principal.ts'
import { newRecoveryCodes, newTotpSecret, totpUri } from '../../../crypto/totp.ts'
import type { Queries, ReadStore } from '../../../db/store.ts'
import { recoveryCodes, users } from '../../../db/tables.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { Action } from '../../operation/audit/events.ts'
import type { Incidents } from '../../operation/audit/incidents.ts'
import type { WriteAs } from '../credentials/write-as.ts'
import type { Notify } from '../notices.ts'
import { type ConfirmPassword, requireSamePassword } from '../proof/confirm-password.ts'
import { hashRecoveryCode, isEnrolled, type SecondFactor } from '../proof/second-factor.ts'
import { forgive, type Throttle } from '../proof/throttle.ts'
import type { Sessions } from '../session/sessions.ts'

export type TwoFactorOptions = {
  store: ReadStore
  writeAs: WriteAs
  clock: Clock
  audit: RecordAudit
  incidents: Incidents
  notify: Notify
  throttle: Throttle
  secondFactor: SecondFactor
  confirmPassword: ConfirmPassword
  endSessions: Sessions['endWithin']
  /** What authenticator apps show next to the account. */
  panelName(): Promise<string>
  /** Whether users of this role must have 2FA enabled. */
  isRequired(queries: Queries, role: Role): Promise<boolean>
}

/** What a change of 2FA requires. */
export type Proof = { password: string; code: string }

export type TwoFactor = ReturnType<typeof createTwoFactor>

export function createTwoFactor(options: TwoFactorOptions) {
  const { store, writeAs, clock, audit, incidents, notify, throttle, secondFactor, confirmPassword, isRequired } =
    options
  const { panelName, endSessions } = options

  async function replaceRecoveryCodes(tx: Queries, userId: number): Promise<string[]> {
    const codes = newRecoveryCodes()
    await tx.delete(recoveryCodes).where(eq(recoveryCodes.userId, userId))
    await tx.insert(recoveryCodes).values(codes.map((code) => ({ userId, codeHash: hashRecoveryCode(code) })))
    return codes
  }

  /** Proves both factors and does `work` in one transaction. */
  async function withProof<T>(
    caller: Caller,
    proof: Proof,
    work: (tx: Queries, caller: Caller) => Promise<T>,
  ): Promise<T> {
    // Before the password: a correct one would count as a failed attempt.
    await requireEnrolled(store.read, caller.userId)
    const confirmed = await confirmPassword(caller, proof.password)
    return writeAs(caller, async (tx, caller) => {
      await requireSamePassword(tx, confirmed)
      await requireEnrolled(tx, caller.userId)
      await secondFactor.demand(tx, caller, proof.code)
      await forgive(tx, caller)
      return work(tx, caller)
    })
  }

  /** @throws AppError `conflict` when no seed is waiting for its first code, or it has waited too long */
  async function requireWaitingSeed(queries: Queries, userId: number): Promise<string> {
    const [user] = await queries.select({ sealed: users.totpPendingSecret }).from(users).where(eq(users.id, userId))
    const seed = user?.sealed ? secondFactor.openWaiting(user.sealed, userId) : undefined
    if (seed === undefined) {
      throw new AppError(
        'conflict',
        'Nothing to enable: set up two-factor authentication first, and confirm within ten minutes',
      )
    }
    return seed
  }

  /** @throws AppError `conflict` if the caller must have 2FA enabled */
  async function requireOptional(queries: Queries, { role }: Caller): Promise<void> {
    if (!(await isRequired(queries, role))) return
    throw new AppError('conflict', 'Two-factor authentication is required here, so it cannot be switched off')
  }

  /** See `reset`. */
  async function resetWithin(tx: Queries, actor: Actor, userId: number): Promise<boolean> {
    if (!(await isEnrolled(tx, userId))) return false
    await removeTwoFactor(tx, userId, clock.now())
    await endSessions(tx, userId)
    await notify(tx, userId, { kind: 'two_factor_reset' }, actor)
    await audit(tx, actor, {
      action: 'auth.two_factor_reset',
      accountId: userId,
      target: { type: 'user', id: userId },
    })
    return true
  }

  const auditOwn = (tx: Queries, caller: Caller, action: Action) =>
    audit(tx, caller, { action, accountId: caller.userId, target: { type: 'user', id: caller.userId } })

  return {
    /**
     * Creates a seed to be confirmed; one already in force stays in force.
     *
     * @throws AppError `invalid_credentials`, `conflict` if 2FA is on
     */
    async setUp(caller: Caller, password: string) {
      const { userId } = caller
      const isOn = () => new AppError('conflict', 'Two-factor authentication is already on')
      if (await isEnrolled(store.read, userId)) throw isOn()
      const confirmed = await confirmPassword(caller, password)
      const secret = newTotpSecret()
      const { email } = await writeAs(caller, async (tx, caller) => {
        const user = await requireSamePassword(tx, confirmed)
        await forgive(tx, caller)
        const changed = await tx
          .update(users)
          .set({ totpPendingSecret: secondFactor.sealWaiting(secret, userId) })
          .where(and(eq(users.id, userId), isNull(users.totpEnabledAt)))
          .returning({ id: users.id })
        if (changed.length === 0) throw isOn()
        await auditOwn(tx, caller, 'auth.two_factor_setup')
        return user
      })
      const uri = totpUri(secret, email, await panelName())
      return { secret, uri, qrSvg: renderSVG(uri) }
    },

    /**
     * Confirms the waiting seed with its first code, and ends the user's other sessions.
     *
     * @returns ten recovery codes, shown only this once
     * @throws AppError `two_factor_invalid`, also after too many failures, and `conflict` if no seed is waiting
     */
    async enable(caller: Caller, code: string): Promise<string[]> {
      const { userId } = caller
      const keepSessionId = sessionIdOf(caller)
      await requireWaitingSeed(store.read, userId)
      return incidents.watch(caller, { action: 'auth.two_factor_enable', accountId: userId }, async () => {
        const isAdmitted = await throttle.admitCaller(caller)
        if (!isAdmitted) throw new AppError('two_factor_invalid')
        return writeAs(caller, async (tx, caller) => {
          const seed = await requireWaitingSeed(tx, userId)
          const step = secondFactor.stepOf(seed, code, userId)
          await forgive(tx, caller)
          const now = clock.now()
          await tx
            .update(users)
            .set({
              totpSecret: secondFactor.sealSeed(seed, userId),
              totpPendingSecret: null,
              totpEnabledAt: now,
              totpLastStep: step,
              updatedAt: now,
            })
            .where(eq(users.id, userId))
          await endSessions(tx, userId, keepSessionId)
          await notify(tx, userId, { kind: 'two_factor_enabled' })
          await auditOwn(tx, caller, 'auth.two_factor_enable')
          return replaceRecoveryCodes(tx, userId)
        })
      })
    },

    /**
     * Disables 2FA, and ends the user's other sessions.
     *
     * @throws AppError `invalid_credentials`, `two_factor_invalid`, `conflict` if 2FA is off, or required for the user
     */
    async disable(caller: Caller, proof: Proof): Promise<void> {
      const { userId } = caller
      const keepSessionId = sessionIdOf(caller)
      await requireOptional(store.read, caller)
      await withProof(caller, proof, async (tx, caller) => {
        await requireOptional(tx, caller)
        await removeTwoFactor(tx, userId, clock.now())
        await endSessions(tx, userId, keepSessionId)
        await notify(tx, userId, { kind: 'two_factor_disabled' })
        await auditOwn(tx, caller, 'auth.two_factor_disable')
      })
    },

    /**
     * Replaces all recovery codes.
     *
     * @throws AppError `invalid_credentials`, `two_factor_invalid`, `conflict` if 2FA is off
     */
    async renewRecoveryCodes(caller: Caller, proof: Proof): Promise<string[]> {
      return withProof(caller, proof, async (tx, caller) => {
        await notify(tx, caller.userId, { kind: 'recovery_codes_renewed' })
        await auditOwn(tx, caller, 'auth.recovery_codes_renew')
        return replaceRecoveryCodes(tx, caller.userId)
      })
    },

    /**
     * Disables 2FA for a user who lost the device, and ends all of the user's sessions. For the command line.
     *
     * @returns whether it was on; if not, nothing is done and no notice is sent
     */
    async reset(actor: Actor, userId: number): Promise<boolean> {
      return writeAs(actor, (tx, actor) => resetWithin(tx, actor, userId))
    },

    resetWithin,
    requireEnrolled,
  }
}

/** Disables 2FA and forgets the seed, even a waiting one, and the recovery codes. */
async function removeTwoFactor(tx: Queries, userId: number, nowMs: number): Promise<void> {
  await tx
    .update(users)
    .set({ totpSecret: null, totpPendingSecret: null, totpEnabledAt: null, updatedAt: nowMs })
    .where(eq(users.id, userId))
  await tx.delete(recoveryCodes).where(eq(recoveryCodes.userId, userId))
}

/** @throws AppError `conflict` if 2FA is off */
async function requireEnrolled(queries: Queries, userId: number): Promise<void> {
  if (!(await isEnrolled(queries, userId))) throw new AppError('conflict', 'Two-factor authentication is off')
}
