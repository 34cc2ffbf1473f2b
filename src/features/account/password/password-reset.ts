/** Requests for an email with a link for setting a new password. `password.ts` redeems the token in the link. */
import { and, eq, inArray, lte } from 'drizzle-orm'
import type { UnauthenticatedClient } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import { normalizeEmail } from '../../../core/email.ts'
import { AppError } from '../../../core/errors.ts'
import { newToken, sha256 } from '../../../crypto/secret.ts'
import { isPassing } from '../../../db/failures.ts'
import type { Queries } from '../../../db/store.ts'
import { passwordTokens, users } from '../../../db/tables.ts'
import { createSingleFlight } from '../../../jobs/single-flight.ts'
import type { Log } from '../../../log/log.ts'
import { passwordLink } from '../../../mail/links.ts'
import type { PutMail } from '../../../mail/outbox.ts'
import { resetTopic } from '../../../mail/topics.ts'
import type { FindWording } from '../../../mail/wording.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { Incidents } from '../../operation/audit/incidents.ts'
import { type AllowancePolicy, readAllowances, spendAllowance, writeAllowance } from '../allowance.ts'
import type { WriteAs } from '../credentials/write-as.ts'
import { addPasswordToken } from '../proof/password-tokens.ts'
import { countStranger, isKnownAddress } from '../proof/throttle.ts'

export type PasswordResetOptions = {
  writeAs: WriteAs
  clock: Clock
  /** Rows that expired before this may be deleted for good. */
  deletableBefore(): number
  log: Log
  audit: RecordAudit
  incidents: Incidents
  putMail: PutMail
  findWording: FindWording
  /** The configured base of links, without a trailing slash. Nothing from a request ever gets into a link. */
  publicUrl: string
}

type ResetRequest = { email: string; client: UnauthenticatedClient }

export type PasswordReset = ReturnType<typeof createPasswordReset>

/** ASVS V6.5.5: what is sent out of band is valid for ten minutes. */
const RESET_TTL_MS = 10 * 60 * 1000
/**
 * However many requests there are for an account, one sends an email at once, the next after a minute, then two, four
 * and so on up to an hour, so no mailbox is flooded. Requests from addresses known to the user count separately.
 */
const EMAILS: AllowancePolicy = { free: 1, firstDelayMs: 60 * 1000, longestDelayMs: 60 * 60 * 1000 }
/** Expired tokens deleted per request: more than it adds. */
const SWEEP = 20
/** Roughly what one second of writing can process. */
const MAX_WAITING = 1000

export function createPasswordReset(options: PasswordResetOptions) {
  const { writeAs, clock, deletableBefore, log, audit, incidents, putMail, findWording, publicUrl } = options
  /**
   * By email and address group: a request from an address known to the user has its own allowance, and must not be lost
   * because another client asked for the same email a moment before.
   */
  const waiting = new Map<string, ResetRequest>()

  /** Earlier emails' tokens stay valid. @returns false if it is too early for another email */
  async function issue(
    tx: Queries,
    userId: number,
    { origin }: UnauthenticatedClient,
    token: string,
  ): Promise<boolean> {
    const createdAt = clock.now()
    const isKnown = await isKnownAddress(tx, userId, origin.group, createdAt)
    const name = isKnown ? 'reset email, known address' : 'reset email'
    const used = (await readAllowances(tx, userId, [name])).get(name)
    const after = spendAllowance(EMAILS, used, createdAt)
    if (!after) return false
    await writeAllowance(tx, userId, name, after)
    const row = { tokenHash: sha256(token), createdAt, expiresAt: createdAt + RESET_TTL_MS }
    await addPasswordToken(tx, { userId, purpose: 'reset', ...row })
    return true
  }

  /**
   * Costs one commit for every address. A user who was never activated can set the first password this way too: the
   * mailbox proves as much as the activation does. The activation token stays valid until one of them is used.
   */
  async function answer(email: string, client: UnauthenticatedClient): Promise<void> {
    const token = newToken()
    await writeAs(client, async (tx, client) => {
      const expired = tx
        .select({ id: passwordTokens.id })
        .from(passwordTokens)
        .where(lte(passwordTokens.expiresAt, deletableBefore()))
        .limit(SWEEP)
      await tx.delete(passwordTokens).where(inArray(passwordTokens.id, expired))
      const [user] = await tx
        .select({ id: users.id, email: users.email })
        .from(users)
        .where(and(eq(users.email, email), eq(users.status, 'active')))
      if (!user || !(await issue(tx, user.id, client, token))) {
        const reason = user ? 'rate_limited' : 'not_found'
        incidents.failed(client, { action: 'auth.password_reset_request', accountId: user?.id ?? null }, reason)
        return countStranger(tx)
      }
      await putMail(tx, {
        to: user.email,
        ...(await findWording(tx)).passwordReset({ email: user.email, link: passwordLink(publicUrl, token) }),
        expiresAt: clock.now() + RESET_TTL_MS,
        topic: resetTopic(user.id),
      })
      await audit(tx, client, {
        action: 'auth.password_reset_request',
        accountId: user.id,
        target: { type: 'user', id: user.id },
      })
    })
  }

  async function answerAll(): Promise<void> {
    const requests = [...waiting]
    waiting.clear()
    for (const [key, request] of requests) {
      await answer(request.email, request.client).catch((err) => {
        log.error({ err }, 'a password reset could not be written')
        // The client was promised an email, so temporary failures are waited out.
        if (isPassing(err) && !waiting.has(key)) waiting.set(key, request)
      })
    }
  }

  const answering = createSingleFlight(answerAll)

  return {
    /**
     * Only queues the request, so that it takes the same work and time for every address: looking up its owner, even
     * with a commit for everyone, took two thirds longer for a known one (ASVS V6.3.8).
     *
     * @throws AppError `unavailable` when too many are waiting
     */
    request(client: UnauthenticatedClient, wanted: string): void {
      if (waiting.size >= MAX_WAITING) throw new AppError('unavailable', undefined, { 'retry-after': '2' })
      const email = normalizeEmail(wanted)
      const key = `${email} ${client.origin.group}`
      if (!waiting.has(key)) waiting.set(key, { email, client })
    },

    /** Issues the tokens that were requested, and queues the emails. Never throws; a failure is logged. */
    flush: answering.next,
  }
}
