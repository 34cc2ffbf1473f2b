/** Runs actions that take over or weaken an account only after the caller has proven both factors again. */
import type { Caller } from '../../../core/actor.ts'
import type { Queries } from '../../../db/store.ts'
import type { WriteAs } from '../credentials/write-as.ts'
import { type ConfirmPassword, requireSamePassword } from './confirm-password.ts'
import type { SecondFactor } from './second-factor.ts'
import { forgive } from './throttle.ts'

/** The caller's own factors, whichever account is affected. The code is required with two-factor authentication on. */
export type BothFactors = { password: string; totpCode: string | undefined }

/**
 * Does `work` in one transaction of a caller who proves password and second factor.
 *
 * @throws AppError `invalid_credentials`, `two_factor_required`, `two_factor_invalid`, and whatever `work` throws
 */
export type WithBothFactors = <T>(
  caller: Caller,
  proof: BothFactors,
  work: (tx: Queries, caller: Caller) => Promise<T>,
) => Promise<T>

export type BothFactorsOptions = { writeAs: WriteAs; confirmPassword: ConfirmPassword; secondFactor: SecondFactor }

export function createWithBothFactors(options: BothFactorsOptions): WithBothFactors {
  const { writeAs, confirmPassword, secondFactor } = options
  return async (caller, { password, totpCode }, work) => {
    const confirmed = await confirmPassword(caller, password)
    return writeAs(caller, async (tx, caller) => {
      await requireSamePassword(tx, confirmed)
      await secondFactor.demand(tx, caller, totpCode)
      await forgive(tx, caller)
      return work(tx, caller)
    })
  }
}
