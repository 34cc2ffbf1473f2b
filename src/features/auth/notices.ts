/** Notices by mail about what happened to an account (ASVS V6.3.7), to the address that is stored for it. */
import { eq } from 'drizzle-orm'
import type { Actor } from '../../core/actor.ts'
import type { Clock } from '../../core/clock.ts'
import { formatTimestamp } from '../../core/timestamp.ts'
import type { Queries } from '../../db/store.ts'
import { users } from '../../db/tables.ts'
import type { PutMail } from '../../mail/outbox.ts'

export type Notice =
  | { kind: 'password_set' }
  | { kind: 'two_factor_enabled' }
  | { kind: 'two_factor_disabled' }
  | { kind: 'two_factor_reset' }
  | { kind: 'recovery_codes_renewed' }
  /** The address that the account is to move to, or has. */
  | { kind: 'email_change_requested'; email: string }
  | { kind: 'email_changed'; email: string }
  /** `expiresAt` in milliseconds since the epoch, null for never. */
  | {
      kind: 'api_key_created'
      name: string
      prefix: string
      expiresAt: number | null
      /** Until when it may rotate itself; null for one that may not. */
      renewableUntil: number | null
    }
  | {
      kind: 'api_key_rotated_itself'
      name: string
      prefix: string
      expiresAt: number
      previousValidUntil: number | null
      renewableUntil: number
      address: string
    }
  /** `previousValidUntil` of the old secret, null when it has stopped at once. */
  | { kind: 'api_key_rotated'; name: string; prefix: string; previousValidUntil: number | null }
  | { kind: 'api_key_expiry_changed'; name: string; prefix: string; expiresAt: number | null }
  | { kind: 'api_key_expires'; name: string; prefix: string; expiresAt: number }
  | { kind: 'new_address'; address: string }
  /** `left` are the codes that still work. */
  | { kind: 'recovery_code_used'; left: number }
  | { kind: 'login_attempts_slowed' }
  | { kind: 'session_attempts_slowed' }
  | { kind: 'api_key_deleted'; name: string; prefix: string }
  | { kind: 'account_unlocked' }
  /** With so many sites and API keys that were bound to it. */
  | { kind: 'subscription_deleted'; name: string; sites: number; apiKeys: number }

/**
 * Tells a user, in the transaction of what happened.
 *
 * @param actor who did it, where that may be somebody else: the notice then says so
 */
export type Notify = (tx: Queries, userId: number, notice: Notice, actor?: Actor) => Promise<void>

/** Who did what the notice tells. */
type Author = 'user' | 'administrator' | 'operator'

/** Long enough for a mail server that is down over a weekend. */
const NOTICE_TTL_MS = 3 * 24 * 60 * 60 * 1000

export function createNotify({ clock, putMail }: { clock: Clock; putMail: PutMail }): Notify {
  return async (tx, userId, notice, actor) => {
    const [user] = await tx.select({ email: users.email }).from(users).where(eq(users.id, userId))
    if (!user) return
    const now = clock.now()
    const author = authorOf(actor, userId)
    const { subject, event, advice = ADVICE[author] } = wordsFor(notice, author)
    const text = [`${event}`, `Account: ${user.email}\nTime: ${formatTimestamp(now)}`, advice]
    await putMail(tx, { to: user.email, subject, text: text.join('\n\n'), expiresAt: now + NOTICE_TTL_MS })
  }
}

const ADVICE: Record<Author, string> = {
  user: 'If it was you, there is nothing to do. If not, change your password, or ask for a new one, and tell the operator.',
  administrator: 'An administrator of the panel did this. If you did not expect it, ask the operator of the panel.',
  operator: 'The operator of the panel did this. If you did not expect it, ask the operator.',
}

function authorOf(actor: Actor | undefined, userId: number): Author {
  if (actor?.kind === 'operator') return 'operator'
  return actor?.kind === 'user' && actor.userId !== userId ? 'administrator' : 'user'
}

/** `advice` where the usual one does not fit. */
function wordsFor(notice: Notice, author: Author): { subject: string; event: string; advice?: string } {
  switch (notice.kind) {
    case 'password_set':
      return { subject: 'Your password was set', event: 'A new password was set for your account.' }
    case 'two_factor_enabled':
      return {
        subject: 'Two-factor authentication is on',
        event: 'Two-factor authentication was switched on for your account.',
      }
    case 'two_factor_disabled':
      return {
        subject: 'Two-factor authentication is off',
        event: 'Two-factor authentication was switched off for your account.',
      }
    case 'two_factor_reset':
      return {
        subject: 'Two-factor authentication is off',
        event: `${author === 'operator' ? 'The operator' : 'An administrator'} switched two-factor authentication off for your account.`,
      }
    case 'recovery_codes_renewed':
      return {
        subject: 'Your recovery codes were replaced',
        event: 'New recovery codes were made for your account. The former ones no longer work.',
      }
    case 'email_change_requested':
      return {
        subject: 'A new email address was asked for',
        event: `Somebody who knows your password asked to move your account to ${notice.email}.`,
      }
    case 'email_changed':
      return {
        subject: 'Your email address was changed',
        event: `Your account has moved to ${notice.email}. This is the last mail to the present address.`,
      }
    case 'api_key_created':
      return {
        subject: 'A new API key was created',
        event: `An API key was created for your account.${key(notice)}${renewal(notice)}`,
      }
    case 'api_key_rotated_itself': {
      const { previousValidUntil, renewableUntil, address } = notice
      const end = previousValidUntil === null ? 'no longer works' : `works until ${formatTimestamp(previousValidUntil)}`
      return {
        subject: 'An API key rotated itself',
        event: `An API key of your account gave itself a new secret and a new expiry, from ${address}.${key(notice)}\nThe old secret ${end}.`,
        advice: `If a script of yours did this, there is nothing to do. If not, delete the key: its holder can keep it working until ${formatTimestamp(renewableUntil)}.`,
      }
    }
    case 'api_key_expiry_changed':
      return {
        subject: 'An API key was given another expiry',
        event: `An API key of your account was given another expiry.${key(notice)}`,
      }
    case 'api_key_rotated': {
      const { name, prefix, previousValidUntil } = notice
      const end = previousValidUntil === null ? 'no longer works' : `works until ${formatTimestamp(previousValidUntil)}`
      return {
        subject: 'An API key was rotated',
        event: `An API key of your account was given a new secret.\nName: ${quote(name)}\nBegins with: ${prefix}\nThe old secret ${end}.`,
      }
    }
    case 'api_key_expires':
      return {
        subject: 'An API key expires soon',
        event: `An API key of your account expires, and what uses it will stop.${key(notice)}`,
        advice: 'If it is still needed, give it a new expiry, or create another key and put it in its place.',
      }
    case 'api_key_deleted': {
      const { name, prefix } = notice
      return {
        subject: 'An API key was deleted',
        event: `An API key of your account was deleted, and what uses it has stopped.\nName: ${quote(name)}\nBegins with: ${prefix}`,
      }
    }
    case 'account_unlocked':
      return {
        subject: 'Your account was unlocked',
        event: 'Failed attempts to log in to your account were forgotten, and you can log in from everywhere.',
      }
    case 'subscription_deleted': {
      const { name, sites, apiKeys } = notice
      return {
        subject: 'A subscription was deleted',
        event: `A subscription of yours was deleted.\nName: ${quote(name)}\nSites deleted with it: ${sites}\nAPI keys deleted with it: ${apiKeys}`,
      }
    }
    case 'new_address':
      return {
        subject: 'Login from a new address',
        event: `Somebody logged in to your account from ${notice.address}, an address that was not used lately.`,
      }
    case 'recovery_code_used':
      return {
        subject: 'A recovery code was used',
        event: `A recovery code was used in place of a code of your authenticator app. Recovery codes left: ${notice.left}.`,
      }
    case 'login_attempts_slowed':
      return {
        subject: 'Many failed attempts to log in to your account',
        event: [
          'Wrong passwords or codes were given for your account, more often than people mistype them.',
          'From unknown addresses it now takes one attempt at a time, with up to nine hours in between.',
          'Your sessions and API keys work as before, and so does a login from an address that you used in the last 30 days.',
        ].join(' '),
        advice: [
          'To log in from anywhere else, ask for a new password: with it, you can log in from where you set it.',
          'If the attempts were not yours and your password is used elsewhere too, choose a new one.',
        ].join(' '),
      }
    case 'session_attempts_slowed':
      return {
        subject: 'Many wrong passwords in a session of your account',
        event:
          'Somebody who is logged in to your account gave wrong passwords or codes, more often than people mistype them. That session now gets one attempt at a time.',
        advice:
          'If it was you, log in again to go on. If not, end that session in the list of your sessions, choose a new password, and tell the operator.',
      }
  }
}

function key({ name, prefix, expiresAt }: { name: string; prefix: string; expiresAt: number | null }): string {
  const expiry = expiresAt === null ? 'never' : formatTimestamp(expiresAt)
  return `\nName: ${quote(name)}\nBegins with: ${prefix}\nExpires: ${expiry}`
}

function renewal({ renewableUntil }: { renewableUntil: number | null }): string {
  return renewableUntil === null ? '' : `\nIt may rotate itself until: ${formatTimestamp(renewableUntil)}`
}

/**
 * A user's text as one quoted line that can't pass for ours: characters that nobody sees or that turn the direction of
 * writing (Unicode TR 36 §3.2) are spelled out.
 */
function quote(text: string): string {
  return JSON.stringify(text).replaceAll(
    /[\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}
