/** Login: exchanges email, password and, with 2FA, a code for a new session. */
import { and, eq } from 'drizzle-orm'
import type { AuthenticatedUser, UnauthenticatedClient } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import { normalizeEmail } from '../../../core/email.ts'
import { AppError } from '../../../core/errors.ts'
import type { Passwords } from '../../../crypto/passwords.ts'
import { given, prepare } from '../../../db/statements.ts'
import type { Queries, ReadStore } from '../../../db/store.ts'
import { users } from '../../../db/tables.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { Incidents } from '../../operation/audit/incidents.ts'
import type { WriteAs } from '../credentials/write-as.ts'
import type { Notify } from '../notices.ts'
import type { Door, Throttle } from '../proof/throttle.ts'
import { beginSession, type Session } from './sessions.ts'

type UserRow = typeof users.$inferSelect

const findByEmail = prepare((queries) =>
  queries
    .select()
    .from(users)
    .where(eq(users.email, given('email'))),
)
const noteLogin = prepare((tx) =>
  tx
    .update(users)
    .set({ passwordHash: given('currentHash'), lastLoginAt: given('nowMs') })
    .where(and(eq(users.id, given('userId')), eq(users.status, 'active'), eq(users.passwordHash, given('hash'))))
    .returning(),
)

export type LoginOptions = {
  store: ReadStore
  writeAs: WriteAs
  clock: Clock
  /** Rows that expired before this may be deleted for good. */
  deletableBefore(): number
  audit: RecordAudit
  incidents: Incidents
  passwords: Passwords
  throttle: Throttle
  /** How long a new JWT is valid, in seconds. */
  ttlSeconds(): Promise<number>
  /** @throws AppError `two_factor_invalid` */
  spendCode(tx: Queries, user: UserRow, code: string): Promise<void>
  notify: Notify
}

export type LoginRequest = { email: string; password: string; totpCode: string | undefined }

export type Login = ReturnType<typeof createLogin>

export function createLogin(options: LoginOptions) {
  const {
    store,
    writeAs,
    clock,
    deletableBefore,
    audit,
    incidents,
    passwords,
    throttle,
    ttlSeconds,
    spendCode,
    notify,
  } = options

  /**
   * An unknown email, a disabled or throttled user, a user without a password and a wrong password get one response,
   * after the same work. Whether a code is required shows only after the right password.
   *
   * @throws AppError `invalid_credentials`, `two_factor_required`, `two_factor_invalid`, `unavailable`
   */
  return async function login(
    client: UnauthenticatedClient,
    request: LoginRequest,
  ): Promise<{ user: UserRow; session: Session }> {
    const user = await findByEmail.first(store.read, { email: normalizeEmail(request.email) })
    const attempt = { action: 'auth.login' as const, accountId: user?.id ?? null }
    return incidents.watch(client, attempt, () => prove(user, client, request))
  }

  async function prove(user: UserRow | undefined, client: UnauthenticatedClient, { password, totpCode }: LoginRequest) {
    const { origin } = client
    const line = (await throttle.knows(user?.id, origin.group)) ? 'known' : 'unknown'
    const came: { door?: Door | undefined } = {}
    const hash = await passwords.verify(password, line, async () => {
      came.door = await throttle.admit(user?.id, origin.group)
      return came.door && user?.status === 'active' ? user.passwordHash : null
    })
    const { door } = came
    if (!user || hash === undefined || door === undefined) throw new AppError('invalid_credentials')
    const currentHash = passwords.isOutdated(hash) ? await passwords.hash(password) : hash
    const ttl = await ttlSeconds()

    return writeAs(client, async (tx) => {
      const nowMs = clock.now()
      // Compare-and-set: while the password was being hashed, the account may have been changed or disabled.
      const current = await noteLogin.first(tx, { userId: user.id, hash, currentHash, nowMs })
      if (!current) throw new AppError('invalid_credentials')
      if (current.totpEnabledAt !== null) {
        if (!totpCode) throw new AppError('two_factor_required')
        await spendCode(tx, current, totpCode)
      }
      const isKnown = await throttle.succeed(tx, user.id, origin.group, door)
      // The very first login is from a new address, but that is no news.
      if (!isKnown && user.lastLoginAt !== null) {
        await notify(tx, user.id, { kind: 'new_address', address: origin.address })
      }
      const session = await beginSession(
        tx,
        { userId: user.id, ttlSeconds: ttl, nowMs, deletableBefore: deletableBefore() },
        origin,
      )
      const { id: sessionId, expiresAt } = session
      const credential = { kind: 'jwt' as const, sessionId, expiresAt }
      const caller: AuthenticatedUser = { kind: 'user', userId: user.id, role: current.role, credential, origin }
      await audit(tx, caller, {
        action: 'auth.login',
        accountId: user.id,
        target: { type: 'session', id: sessionId },
        details: { newAddress: !isKnown },
      })
      return { user: current, session }
    })
  }
}
