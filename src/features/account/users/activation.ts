/** The activation token with which a new user sets a first password, and the email that carries it. */
import type { Clock } from '../../../core/clock.ts'
import { newToken, sha256 } from '../../../crypto/secret.ts'
import type { Queries } from '../../../db/store.ts'
import { activationLink } from '../../../mail/links.ts'
import type { PutMail } from '../../../mail/outbox.ts'
import { activationTopic } from '../../../mail/topics.ts'
import type { FindWording } from '../../../mail/wording.ts'
import { addPasswordToken, voidPasswordTokens } from '../proof/password-tokens.ts'

/** `expiresAt` in milliseconds since the epoch. */
export type Activation = { token: string; expiresAt: number }

/** Issues a token in the caller's transaction; it voids the user's older one. */
export type IssueActivation = (tx: Queries, user: { id: number; email: string }) => Promise<Activation>

export type ActivationOptions = {
  clock: Clock
  putMail: PutMail
  findWording: FindWording
  /** The configured base of links, without a trailing slash; without it there is no link to email. */
  publicUrl: string | undefined
}

/** ASVS V6.4.1: short-lived and single-use. */
const ACTIVATION_TTL_MS = 24 * 60 * 60 * 1000

export function createIssueActivation({ clock, putMail, findWording, publicUrl }: ActivationOptions): IssueActivation {
  return async (tx, { id: userId, email }) => {
    const token = newToken()
    const createdAt = clock.now()
    const expiresAt = createdAt + ACTIVATION_TTL_MS
    await voidPasswordTokens(tx, userId, 'activation')
    await addPasswordToken(tx, { userId, purpose: 'activation', tokenHash: sha256(token), createdAt, expiresAt })
    if (publicUrl !== undefined) {
      await putMail(tx, {
        to: email,
        ...(await findWording(tx)).activation({ email, link: activationLink(publicUrl, token) }),
        expiresAt,
        topic: activationTopic(userId),
      })
    }
    return { token, expiresAt }
  }
}
