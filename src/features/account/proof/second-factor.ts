/** Checks second-factor codes: each is accepted once, and required of every enrolled user. */
import { and, eq, gt, isNotNull, lt, or } from 'drizzle-orm'
import type { Caller } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { sha256 } from '../../../crypto/secret.ts'
import type { SecretBox } from '../../../crypto/secret-box.ts'
import { nearTotpStep, normalizeRecoveryCode, stepAt, totpStep } from '../../../crypto/totp.ts'
import type { Queries, ReadStore } from '../../../db/store.ts'
import { recoveryCodes, users } from '../../../db/tables.ts'
import type { Incidents } from '../../operation/audit/incidents.ts'
import type { WriteAs } from '../credentials/write-as.ts'
import type { Notify } from '../notices.ts'
import { forgive, type Throttle } from './throttle.ts'

type UserRow = typeof users.$inferSelect

export type SecondFactorOptions = {
  store: ReadStore
  writeAs: WriteAs
  clock: Clock
  secretBox: SecretBox
  throttle: Throttle
  incidents: Incidents
  notify: Notify
  /** Whether a fresh code is required where the contract only requires a JWT. */
  isCodeRequired(queries: Queries): Promise<boolean>
}

export type SecondFactor = ReturnType<typeof createSecondFactor>

/**
 * Does `work` in one transaction of the caller's session. If the settings require it, an enrolled caller first spends a
 * fresh code. Otherwise a code is ignored.
 *
 * @throws AppError `two_factor_required`, `two_factor_invalid`, and whatever `work` throws
 */
export type WithFreshCode = <T>(
  caller: Caller,
  code: string | undefined,
  work: (tx: Queries, caller: Caller) => Promise<T>,
) => Promise<T>

export function createSecondFactor(options: SecondFactorOptions) {
  const { store, writeAs, clock, secretBox, throttle, incidents, notify, isCodeRequired } = options
  const openSeed = (sealed: string, userId: number) => secretBox.open(sealed, seedContext(userId))

  /** By user, the step of a code that was sent early and refused as such: it is not accepted at its own time either. */
  const burnt = new Map<number, number>()

  /**
   * Accepts a code once, in the caller's transaction: a TOTP code of the current or previous step, or a recovery code.
   *
   * @throws AppError `two_factor_invalid`
   */
  async function spend(tx: Queries, user: UserRow, code: string): Promise<void> {
    if (user.totpSecret === null) throw new AppError('two_factor_invalid')
    const seed = openSeed(user.totpSecret, user.id)
    const step = totpStep(seed, code, clock.now())
    if (step === undefined) {
      if (!(await spendRecoveryCode(tx, user.id, code))) throw wrongCode(seed, code, user.id)
      return
    }
    // Compare-and-set: of two requests with one code, serial or parallel, one wins (RFC 6238 §5.2). A future step was
    // spent while the clock was ahead, and must not keep the user out until its time comes.
    const isUnspent = or(lt(users.totpLastStep, step), gt(users.totpLastStep, stepAt(clock.now()) + 1))
    const spent = await tx
      .update(users)
      .set({ totpLastStep: step })
      .where(and(eq(users.id, user.id), isUnspent))
      .returning({ id: users.id })
    if (spent.length === 0 || burnt.get(user.id) === step) throw new AppError('two_factor_invalid')
  }

  async function spendRecoveryCode(tx: Queries, userId: number, code: string): Promise<boolean> {
    const spent = await tx
      .delete(recoveryCodes)
      .where(and(eq(recoveryCodes.userId, userId), eq(recoveryCodes.codeHash, hashRecoveryCode(code))))
      .returning({ userId: recoveryCodes.userId })
    if (spent.length === 0) return false
    await notify(tx, userId, {
      kind: 'recovery_code_used',
      left: await tx.$count(recoveryCodes, eq(recoveryCodes.userId, userId)),
    })
    return true
  }

  /** A guesser who learns that a code belongs to a later step must not be able to use it then. */
  function wrongCode(seed: string, code: string, userId: number): AppError {
    const now = stepAt(clock.now())
    const near = nearTotpStep(seed, code, clock.now(), NEAR_STEPS)
    if (near === undefined) return new AppError('two_factor_invalid')
    for (const [id, step] of burnt) if (step < now - 1) burnt.delete(id)
    if (near > now) burnt.set(userId, near)
    return new AppError('two_factor_invalid', WRONG_TIME)
  }

  /**
   * Requires a code, besides the password, from enrolled callers only. The password's proof has already counted the
   * attempt.
   *
   * @throws AppError `two_factor_required`, `two_factor_invalid`
   */
  async function demand(tx: Queries, caller: Caller, code: string | undefined): Promise<void> {
    const { userId } = caller
    const [user] = await tx
      .select()
      .from(users)
      .where(and(eq(users.id, userId), isNotNull(users.totpEnabledAt)))
    if (!user) return
    if (!code) throw new AppError('two_factor_required')
    await incidents.watch(caller, { action: 'auth.two_factor_code', accountId: userId }, () => spend(tx, user, code))
  }

  const withFreshCode: WithFreshCode = async (caller, code, work) => {
    const { userId } = caller
    const asksForCode = (await isCodeRequired(store.read)) && (await isEnrolled(store.read, userId))
    if (asksForCode && code) {
      const admitted = await throttle.admitCaller(caller)
      if (!admitted) throw new AppError('two_factor_invalid')
    }
    return writeAs(caller, async (tx, caller) => {
      // If the requirement is only moments old, the code was not counted as an attempt, so it is required again.
      if (await isCodeRequired(tx)) await demand(tx, caller, asksForCode ? code : undefined)
      if (asksForCode) await forgive(tx, caller)
      return work(tx, caller)
    })
  }

  return {
    spend,
    demand,
    withFreshCode,

    /** The time step of a code for a seed that is not in force yet. @throws AppError `two_factor_invalid` */
    stepOf(seed: string, code: string, userId: number): number {
      const step = totpStep(seed, code, clock.now())
      if (step === undefined) throw wrongCode(seed, code, userId)
      return step
    },

    sealSeed: (seed: string, userId: number) => secretBox.seal(seed, seedContext(userId)),

    /** A seed that waits up to ten minutes for its first code. */
    sealWaiting: (seed: string, userId: number) =>
      secretBox.seal(`${clock.now() + WAITING_MS} ${seed}`, waitingContext(userId)),

    /** @returns undefined for a seed that has waited too long */
    openWaiting(sealed: string, userId: number): string | undefined {
      const [expiresAt, seed] = secretBox.open(sealed, waitingContext(userId)).split(' ')
      return Number(expiresAt) > clock.now() ? seed : undefined
    },
  }
}

/** How far off a clock may be for the user to be told: five minutes. */
const NEAR_STEPS = 10
const WRONG_TIME =
  'The two-factor code is valid for a different time: set the clock of your phone to automatic, then enter the next code'

const seedContext = (userId: number) => `totp:${userId}`
const waitingContext = (userId: number) => `totp-waiting:${userId}`
/** Long enough to find one's phone; later, another person may be at the keyboard. */
const WAITING_MS = 10 * 60 * 1000

/** Whether a user has two-factor authentication on. */
export async function isEnrolled(queries: Queries, userId: number): Promise<boolean> {
  return (await queries.$count(users, and(eq(users.id, userId), isNotNull(users.totpEnabledAt)))) > 0
}

/** SHA-256 is enough: a recovery code has 130 random bits (ASVS V6.5.2). */
export function hashRecoveryCode(code: string): string {
  return sha256(normalizeRecoveryCode(code))
}
