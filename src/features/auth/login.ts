/** Login: email, password and, for a user with 2FA, a code, against a new session. */
import { and, eq } from 'drizzle-orm'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import type { Passwords } from '../../crypto/passwords.ts'
import type { Queries, Store } from '../../db/store.ts'
import { users } from '../../db/tables.ts'
import type { Notify } from './notices.ts'
import { beginSession, type Origin, type Session } from './sessions.ts'
import type { Throttle } from './throttle.ts'

type UserRow = typeof users.$inferSelect

export type LoginOptions = {
  store: Store
  clock: Clock
  passwords: Passwords
  throttle: Throttle
  /** Seconds a new JWT is valid. */
  ttlSeconds(): Promise<number>
  /** @throws AppError `two_factor_invalid` */
  spendCode(tx: Queries, user: UserRow, code: string): Promise<void>
  notify: Notify
}

export type LoginRequest = { email: string; password: string; totpCode: string | undefined }

export type Login = ReturnType<typeof createLogin>

export function createLogin({ store, clock, passwords, throttle, ttlSeconds, spendCode, notify }: LoginOptions) {
  /**
   * An unknown email, a disabled or throttled user, a user without a password and a wrong password give one answer,
   * after the same work. Whether a code is wanted shows only after the right password.
   *
   * @throws AppError `invalid_credentials`, `two_factor_required`, `two_factor_invalid`, `unavailable`
   */
  return async function login(request: LoginRequest, origin: Origin): Promise<{ user: UserRow; session: Session }> {
    const { password, totpCode } = request
    const [user] = await store.read.select().from(users).where(eq(users.email, request.email.toLowerCase()))
    const hash = await passwords.verify(password, async () => {
      const admitted = await throttle.admit(user?.id, origin.group)
      return admitted && user?.status === 'active' ? user.passwordHash : null
    })
    if (!user || hash === undefined) throw new AppError('invalid_credentials')
    const currentHash = passwords.isOutdated(hash) ? await passwords.hash(password) : hash
    const ttl = await ttlSeconds()

    return store.write(async (tx) => {
      const nowMs = clock.now()
      // Compare-and-set: while the password was being hashed, the account may have been changed or disabled.
      const [current] = await tx
        .update(users)
        .set({ passwordHash: currentHash, lastLoginAt: nowMs })
        .where(and(eq(users.id, user.id), eq(users.status, 'active'), eq(users.passwordHash, hash)))
        .returning()
      if (!current) throw new AppError('invalid_credentials')
      if (current.totpEnabledAt !== null) {
        if (!totpCode) throw new AppError('two_factor_required')
        await spendCode(tx, current, totpCode)
      }
      const isKnown = await throttle.succeed(tx, user.id, origin.group)
      // The first login ever is from a new address and no news.
      if (!isKnown && user.lastLoginAt !== null) {
        await notify(tx, user.id, { kind: 'new_address', address: origin.address })
      }
      const session = await beginSession(tx, { userId: user.id, ttlSeconds: ttl, nowMs }, origin)
      return { user: current, session }
    })
  }
}
