/** Two-factor authentication: enrolment in two steps, codes that work once, recovery codes. */
import { and, eq, isNotNull, isNull, lt } from 'drizzle-orm'
import { renderSVG } from 'uqr'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import { sha256 } from '../../crypto/secret.ts'
import type { SecretBox } from '../../crypto/secret-box.ts'
import { newRecoveryCodes, newTotpSecret, normalizeRecoveryCode, totpStep, totpUri } from '../../crypto/totp.ts'
import type { Queries, Store } from '../../db/store.ts'
import { recoveryCodes, users } from '../../db/tables.ts'
import type { Notify } from './notices.ts'
import { endSessions, type Origin } from './sessions.ts'
import { forgive } from './throttle.ts'

type UserRow = typeof users.$inferSelect

export type TwoFactorOptions = {
  store: Store
  clock: Clock
  secretBox: SecretBox
  notify: Notify
  /** @throws AppError `invalid_credentials` when the password isn't the user's */
  confirmPassword(userId: number, password: string, origin: Origin): Promise<UserRow>
}

/** What a change of 2FA asks for. */
export type Proof = { password: string; code: string }

export type TwoFactor = ReturnType<typeof createTwoFactor>

export function createTwoFactor({ store, clock, secretBox, notify, confirmPassword }: TwoFactorOptions) {
  const openSeed = (sealed: string, userId: number) => secretBox.open(sealed, seedContext(userId))

  /**
   * Accepts a code once, in the caller's transaction: a TOTP code of the current or previous step, or a recovery code.
   *
   * @throws AppError `two_factor_invalid`
   */
  async function spendCode(tx: Queries, user: UserRow, code: string): Promise<void> {
    if (user.totpSecret === null) throw new AppError('two_factor_invalid')
    const step = totpStep(openSeed(user.totpSecret, user.id), code, clock.now())
    // Compare-and-set: of two requests with one code, serial or parallel, one wins (RFC 6238 §5.2).
    const spent =
      step === undefined
        ? await tx
            .delete(recoveryCodes)
            .where(and(eq(recoveryCodes.userId, user.id), eq(recoveryCodes.codeHash, hashCode(code))))
            .returning()
        : await tx
            .update(users)
            .set({ totpLastStep: step })
            .where(and(eq(users.id, user.id), lt(users.totpLastStep, step)))
            .returning()
    if (spent.length === 0) throw new AppError('two_factor_invalid')
  }

  async function replaceRecoveryCodes(tx: Queries, userId: number): Promise<string[]> {
    const codes = newRecoveryCodes()
    await tx.delete(recoveryCodes).where(eq(recoveryCodes.userId, userId))
    await tx.insert(recoveryCodes).values(codes.map((code) => ({ userId, codeHash: hashCode(code) })))
    return codes
  }

  return {
    spendCode,

    /**
     * Makes a seed that waits to be confirmed; one in force stays in force.
     *
     * @throws AppError `invalid_credentials`, `conflict` when 2FA is on
     */
    async setUp(userId: number, password: string, origin: Origin) {
      const { email } = await confirmPassword(userId, password, origin)
      const secret = newTotpSecret()
      await store.write(async (tx) => {
        await forgive(tx, userId)
        const changed = await tx
          .update(users)
          .set({ totpPendingSecret: secretBox.seal(secret, seedContext(userId)) })
          .where(and(eq(users.id, userId), isNull(users.totpEnabledAt)))
          .returning({ id: users.id })
        if (changed.length === 0) throw new AppError('conflict', 'Two-factor authentication is already on')
      })
      const uri = totpUri(secret, email)
      return { secret, uri, qrSvg: renderSVG(uri) }
    },

    /**
     * Confirms the waiting seed with its first code, and ends the user's other sessions.
     *
     * @returns ten recovery codes, shown this once
     * @throws AppError `two_factor_invalid`, `conflict` when nothing waits
     */
    async enable(userId: number, code: string, keepSessionId: number): Promise<string[]> {
      return store.write(async (tx) => {
        const [user] = await tx.select().from(users).where(eq(users.id, userId))
        const pending = user?.totpPendingSecret
        if (!pending) throw new AppError('conflict', 'Nothing to enable: set up two-factor authentication first')
        const step = totpStep(openSeed(pending, userId), code, clock.now())
        if (step === undefined) throw new AppError('two_factor_invalid')
        const now = clock.now()
        await tx
          .update(users)
          .set({ totpSecret: pending, totpPendingSecret: null, totpEnabledAt: now, totpLastStep: step, updatedAt: now })
          .where(eq(users.id, userId))
        await endSessions(tx, userId, keepSessionId)
        await notify(tx, userId, { kind: 'two_factor_enabled' })
        return replaceRecoveryCodes(tx, userId)
      })
    },

    /** @throws AppError `invalid_credentials`, `two_factor_invalid`, `conflict` when 2FA is off */
    async disable(userId: number, proof: Proof, keepSessionId: number, origin: Origin): Promise<void> {
      await confirmPassword(userId, proof.password, origin)
      await store.write(async (tx) => {
        await spendCode(tx, await enrolled(tx, userId), proof.code)
        await forgive(tx, userId)
        await removeTwoFactor(tx, userId, clock.now())
        await endSessions(tx, userId, keepSessionId)
        await notify(tx, userId, { kind: 'two_factor_disabled' })
      })
    },

    /**
     * Replaces all recovery codes.
     *
     * @throws AppError `invalid_credentials`, `two_factor_invalid`, `conflict` when 2FA is off
     */
    async renewRecoveryCodes(userId: number, proof: Proof, origin: Origin): Promise<string[]> {
      await confirmPassword(userId, proof.password, origin)
      return store.write(async (tx) => {
        await spendCode(tx, await enrolled(tx, userId), proof.code)
        await forgive(tx, userId)
        return replaceRecoveryCodes(tx, userId)
      })
    },

    /** Switches 2FA off for a user who lost the device, and ends all sessions of the user. For the command line. */
    async reset(userId: number): Promise<void> {
      await store.write(async (tx) => {
        await removeTwoFactor(tx, userId, clock.now())
        await endSessions(tx, userId)
        await notify(tx, userId, { kind: 'two_factor_reset' })
      })
    },
  }
}

/** Switches 2FA off and forgets the seed, a waiting one too, and the recovery codes. */
async function removeTwoFactor(tx: Queries, userId: number, nowMs: number): Promise<void> {
  await tx
    .update(users)
    .set({ totpSecret: null, totpPendingSecret: null, totpEnabledAt: null, updatedAt: nowMs })
    .where(eq(users.id, userId))
  await tx.delete(recoveryCodes).where(eq(recoveryCodes.userId, userId))
}

async function enrolled(tx: Queries, userId: number): Promise<UserRow> {
  const [user] = await tx
    .select()
    .from(users)
    .where(and(eq(users.id, userId), isNotNull(users.totpEnabledAt)))
  if (!user) throw new AppError('conflict', 'Two-factor authentication is off')
  return user
}

const seedContext = (userId: number) => `totp:${userId}`
/** SHA-256 is enough: a recovery code has 130 random bits (ASVS V6.5.2). */
const hashCode = (code: string) => sha256(normalizeRecoveryCode(code))
