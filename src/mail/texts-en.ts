/** The emails in English. */
import type { Format, Texts } from './texts.ts'

type Key = { name: string; prefix: string }

const named = ({ name, prefix }: Key, { quote }: Format) => `\nName: ${quote(name)}\nBegins with: ${prefix}`
const expiring = (key: Key & { expiresAt: number | null }, format: Format) =>
  `${named(key, format)}\nExpires: ${key.expiresAt === null ? 'never' : format.time(key.expiresAt)}`
const oldSecret = (until: number | null, { time }: Format) =>
  `\nThe old secret ${until === null ? 'no longer works' : `works until ${time(until)}`}.`

export const english: Texts = {
  activation: ({ email, link }) => ({
    subject: 'Your new account',
    paragraphs: [
      `An account was created for you: ${email}. Choose your password here. The link works once, within 24 hours:`,
      link,
      'Anyone with this link can choose the password, so do not share it. If it has expired, request a new password.',
    ],
  }),
  passwordReset: ({ email, link }) => ({
    subject: 'Set a new password',
    paragraphs: [
      `Someone requested a new password for the account ${email}. Set it here. The link works once, within ten minutes:`,
      link,
      'Anyone with this link can set your password, so do not share it. Two-factor authentication stays as it is.',
      'If you did not request this, there is nothing to do: your password stays as it is.',
    ],
  }),
  emailChange: ({ oldEmail, newEmail, link }) => ({
    subject: 'Confirm your new address',
    paragraphs: [
      `The account ${oldEmail} is to move to this address, ${newEmail}. Confirm it here. The link works once, within ten minutes:`,
      link,
      'If you did not request this, there is nothing to do: nothing changes unless the link is used.',
    ],
  }),
  facts: ({ email, time }) => `Account: ${email}\nTime: ${time}`,
  advice: {
    user: 'If this was you, there is nothing to do. If not, change your password, or request a new one, and tell the operator.',
    administrator:
      'An administrator of the panel did this. If you did not expect it, contact the operator of the panel.',
    operator: 'The operator of the panel did this. If you did not expect it, contact the operator.',
  },
  notices: {
    password_set: () => ({ subject: 'Your password was set', event: 'A new password was set for your account.' }),
    two_factor_enabled: () => ({
      subject: 'Two-factor authentication is on',
      event: 'Two-factor authentication was switched on for your account.',
    }),
    two_factor_disabled: () => ({
      subject: 'Two-factor authentication is off',
      event: 'Two-factor authentication was switched off for your account.',
    }),
    two_factor_reset: (_, __, author) => ({
      subject: 'Two-factor authentication is off',
      event: `${author === 'operator' ? 'The operator' : 'An administrator'} switched two-factor authentication off for your account.`,
    }),
    recovery_codes_renewed: () => ({
      subject: 'Your recovery codes were replaced',
      event: 'New recovery codes were created for your account. The previous ones no longer work.',
    }),
    recovery_code_used: ({ left }) => ({
      subject: 'A recovery code was used',
      event: `A recovery code was used instead of a code from your authenticator app. Recovery codes left: ${left}.`,
    }),
    email_change_requested: ({ email }) => ({
      subject: 'A new email address was requested',
      event: `Someone who knows your password asked to move your account to ${email}.`,
    }),
    email_changed: ({ email }) => ({
      subject: 'Your email address was changed',
      event: `Your account has moved to ${email}. This is the last email to the old address.`,
    }),
    api_key_created: (key, format) => ({
      subject: 'A new API key was created',
      event: `An API key was created for your account.${expiring(key, format)}${
        key.renewableUntil === null ? '' : `\nIt may rotate itself until: ${format.time(key.renewableUntil)}`
      }`,
    }),
    api_key_rotated: (key, format) => ({
      subject: 'An API key was rotated',
      event: `An API key of your account was given a new secret.${named(key, format)}${oldSecret(key.previousValidUntil, format)}`,
    }),
    api_key_rotated_itself: (key, format) => ({
      subject: 'An API key rotated itself',
      event: `An API key of your account gave itself a new secret and a new expiry, from the address ${key.address}.${expiring(key, format)}${oldSecret(key.previousValidUntil, format)}`,
      advice: `If a script of yours did this, there is nothing to do. If not, delete the key: its holder can keep it working until ${format.time(key.renewableUntil)}.`,
    }),
    api_key_expiry_changed: (key, format) => ({
      subject: 'The expiry of an API key was changed',
      event: `The expiry of an API key of your account was changed.${expiring(key, format)}`,
    }),
    api_key_expires: (key, format) => ({
      subject: 'An API key expires soon',
      event: `An API key of your account expires soon. Applications that use it will then stop working.${expiring(key, format)}`,
      advice: 'If you still need it, give it a new expiry, or create another key to replace it.',
    }),
    api_key_deleted: (key, format) => ({
      subject: 'An API key was deleted',
      event: `An API key of your account was deleted. Applications that used it no longer work.${named(key, format)}`,
    }),
    account_unlocked: () => ({
      subject: 'Your account was unlocked',
      event: 'The failed attempts to log in to your account were cleared. You can log in from anywhere again.',
    }),
    subscription_deleted: ({ name, sites, apiKeys }, { quote }) => ({
      subject: 'A subscription was deleted',
      event: `A subscription of yours was deleted.\nName: ${quote(name)}\nSites deleted with it: ${sites}\nAPI keys deleted with it: ${apiKeys}`,
    }),
    new_address: ({ address }) => ({
      subject: 'Login from a new address',
      event: `Someone logged in to your account from ${address}, an address that was not used in the last 30 days.`,
    }),
    login_attempts_slowed: () => ({
      subject: 'Many failed attempts to log in to your account',
      event: [
        'Wrong passwords or codes were entered for your account, more often than typing mistakes would explain.',
        'From unknown addresses, only one attempt at a time is now possible, with waits of up to nine hours in between.',
        'Your sessions and API keys still work, and so does logging in from an address that you used in the last 30 days.',
      ].join(' '),
      advice: [
        'To log in from anywhere else, request a new password: you can then log in from where you set it.',
        'If the attempts were not yours and you use the same password elsewhere, choose a new one.',
      ].join(' '),
    }),
    many_changes: () => ({
      subject: 'Many changes to your account',
      event:
        'So much was changed in your account that you will not get an email about each change for now. The audit log of your account lists all of them.',
      advice:
        'If this was not you, end your sessions, delete API keys that you do not know, choose a new password and tell the operator.',
    }),
    session_attempts_slowed: () => ({
      subject: 'Many wrong passwords in a session of your account',
      event:
        'Someone who is logged in to your account entered wrong passwords or codes, more often than typing mistakes would explain. In that session, only one attempt at a time is now possible.',
      advice:
        'If this was you, log in again to continue. If not, end that session in the list of your sessions, choose a new password, and tell the operator.',
    }),
  },
}
