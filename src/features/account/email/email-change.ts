/** Moves an account to a new email address: requested with both factors, confirmed with a token emailed to it. */
import { and, eq, gt } from 'drizzle-orm'
import type { Actor, Caller, UnauthenticatedClient } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import { normalizeEmail } from '../../../core/email.ts'
import { AppError } from '../../../core/errors.ts'
import { newToken, sha256 } from '../../../crypto/secret.ts'
import { isUniqueViolation } from '../../../db/failures.ts'
import type { Queries, ReadStore } from '../../../db/store.ts'
import { emailChanges, users } from '../../../db/tables.ts'
import { emailLink } from '../../../mail/links.ts'
import type { PutMail, WithdrawMail } from '../../../mail/outbox.ts'
import { activationTopic, emailChangeTopic, resetTopic } from '../../../mail/topics.ts'
import type { FindWording } from '../../../mail/wording.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { Incidents } from '../../operation/audit/incidents.ts'
import { type AllowancePolicy, readAllowances, spendAllowance, writeAllowance } from '../allowance.ts'
import type { WriteAs } from '../credentials/write-as.ts'
import type { Notify } from '../notices.ts'
import { type ConfirmPassword, requireSamePassword } from '../proof/confirm-password.ts'
import { invalidToken } from '../proof/mailed-token.ts'
import { voidPasswordTokens } from '../proof/password-tokens.ts'
import type { SecondFactor } from '../proof/second-factor.ts'
import { forgive } from '../proof/throttle.ts'

export type EmailChangeOptions = {
  store: ReadStore
  writeAs: WriteAs
  clock: Clock
  audit: RecordAudit
  incidents: Incidents
  notify: Notify
  putMail: PutMail
  findWording: FindWording
  withdrawMail: WithdrawMail
  confirmPassword: ConfirmPassword
  secondFactor: SecondFactor
  /** The configured base of links, without a trailing slash; undefined if no email can be sent. */
  publicUrl: string | undefined
}

export type EmailChangeRequest = { email: string; password: string; totpCode: string | undefined }

export type EmailChange = ReturnType<typeof createEmailChange>

/** ASVS V6.5.5: what is sent out of band is valid for ten minutes. */
const TTL_MS = 10 * 60 * 1000
/**
 * A user cannot make the panel flood a stranger's mailbox: one email at once, the next after a minute, then two, four and
 * so on up to an hour.
 */
const EMAILS: AllowancePolicy = { free: 1, firstDelayMs: 60 * 1000, longestDelayMs: 60 * 60 * 1000 }
const ALLOWANCE = 'email to a new address'

export function createEmailChange(options: EmailChangeOptions) {
  const {
    store,
    writeAs,
    clock,
    audit,
    incidents,
    notify,
    putMail,
    findWording,
    withdrawMail,
    confirmPassword,
    secondFactor,
    publicUrl,
  } = options

  /** Only the newest token is valid: an earlier one may have gone to a mistyped address. @throws AppError `conflict` */
  async function issue(tx: Queries, userId: number, email: string): Promise<string> {
    const token = newToken()
    const createdAt = clock.now()
    const used = (await readAllowances(tx, userId, [ALLOWANCE])).get(ALLOWANCE)
    const after = spendAllowance(EMAILS, used, createdAt)
    if (!after) {
      throw new AppError('conflict', 'An email was sent a short while ago; look for it first, or try again later')
    }
    await writeAllowance(tx, userId, ALLOWANCE, after)
    const [user] = await tx.select({ updatedAt: users.updatedAt }).from(users).where(eq(users.id, userId))
    const expiresAt = createdAt + TTL_MS
    const newest = { email, tokenHash: sha256(token), userUpdatedAt: user?.updatedAt ?? 0, createdAt, expiresAt }
    await tx
      .insert(emailChanges)
      .values({ userId, ...newest })
      .onConflictDoUpdate({ target: emailChanges.userId, set: newest })
    return token
  }

  /** Notifies the old address, whose owner can still act, and voids what was emailed there or is about to be. */
  async function replaceWithin(tx: Queries, actor: Actor, userId: number, email: string): Promise<void> {
    await voidPasswordTokens(tx, userId)
    for (const topic of [activationTopic(userId), resetTopic(userId)]) await withdrawMail(tx, topic)
    await notify(tx, userId, { kind: 'email_changed', email }, actor)
    await tx.delete(emailChanges).where(eq(emailChanges.userId, userId))
    await tx
      .update(users)
      .set({ email, updatedAt: clock.now() })
      .where(eq(users.id, userId))
      .catch((error) => {
        throw isUniqueViolation(error) ? emailTaken() : error
      })
    await audit(tx, actor, {
      action: 'auth.email_change',
      accountId: userId,
      target: { type: 'user', id: userId },
      details: { email },
    })
  }

  return {
    /**
     * Emails a token to the new address. If another user has the address, no email is sent, and the response does not say so.
     *
     * @throws AppError `invalid_credentials`, `two_factor_required`, `two_factor_invalid`, `validation_error`, and
     * `conflict` if no email can be sent, or one was sent a short while ago
     */
    async request(caller: Caller, { email: wanted, password, totpCode }: EmailChangeRequest): Promise<void> {
      const { userId } = caller
      const email = normalizeEmail(wanted)
      if (publicUrl === undefined) {
        throw new AppError('conflict', 'This panel sends no emails, so it cannot verify an address; ask the operator')
      }
      // Before the password: a correct one would count as a failed attempt.
      await requireOtherEmail(store.read, userId, email)
      const confirmed = await confirmPassword(caller, password)
      await writeAs(caller, async (tx, caller) => {
        const user = await requireSamePassword(tx, confirmed)
        await requireOtherEmail(tx, userId, email)
        await secondFactor.demand(tx, caller, totpCode)
        await forgive(tx, caller)
        const token = await issue(tx, userId, email)
        const isTaken = await tx.$count(users, eq(users.email, email))
        if (!isTaken) {
          await putMail(tx, {
            to: email,
            ...(await findWording(tx)).emailChange({
              oldEmail: user.email,
              newEmail: email,
              link: emailLink(publicUrl, token),
            }),
            expiresAt: clock.now() + TTL_MS,
            topic: emailChangeTopic(userId),
          })
        }
        await notify(tx, userId, { kind: 'email_change_requested', email })
        await audit(tx, caller, {
          action: 'auth.email_change_request',
          accountId: userId,
          target: { type: 'user', id: userId },
          details: { email },
        })
      })
    },

    /**
     * Moves the account, with the token that was emailed to the new address.
     *
     * @throws AppError `validation_error` for a token that is unknown, used or expired, `conflict` if another user has
     * taken the address since
     */
    async confirm(client: UnauthenticatedClient, token: string): Promise<void> {
      await writeAs(client, async (tx, client) => {
        const [spent] = await tx
          .delete(emailChanges)
          .where(and(eq(emailChanges.tokenHash, sha256(token)), gt(emailChanges.expiresAt, clock.now())))
          .returning()
        const [user] = await tx
          .select({ id: users.id, updatedAt: users.updatedAt })
          .from(users)
          .where(and(eq(users.id, spent?.userId ?? 0), eq(users.status, 'active')))
        // Any later change to the account, such as disabling it or a new second factor, voids the request.
        if (!spent || !user || user.updatedAt !== spent.userUpdatedAt) {
          throw invalidToken(incidents, client, 'auth.email_change')
        }
        await replaceWithin(tx, client, user.id, spent.email)
      })
    },

    /** Moves the account of a user who lost the mailbox. For the command line. @throws AppError `conflict` */
    async replace(actor: Actor, userId: number, email: string): Promise<void> {
      await writeAs(actor, (tx, actor) => replaceWithin(tx, actor, userId, normalizeEmail(email)))
    },

    replaceWithin,
    requireOtherEmail,
    requireFreeEmail,
  }
}

/** @throws AppError `validation_error` for the user's current address */
async function requireOtherEmail(queries: Queries, userId: number, email: string): Promise<void> {
  if ((await queries.$count(users, and(eq(users.id, userId), eq(users.email, email)))) === 0) return
  throw new AppError('validation_error', 'email: must not be the current one')
}

/** @throws AppError `conflict` if a user has the address */
async function requireFreeEmail(queries: Queries, email: string): Promise<void> {
  if ((await queries.$count(users, eq(users.email, email))) > 0) throw emailTaken()
}

const emailTaken = () => new AppError('conflict', 'email: another user has this address')
