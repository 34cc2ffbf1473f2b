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
      `An account was made for you: ${email}. Choose your password here, within 24 hours and once:`,
      link,
      'Anyone who has the link can choose the password, so keep it to yourself. If the time has passed, ask for a new password.',
    ],
  }),
  passwordReset: ({ email, link }) => ({
    subject: 'Set a new password',
    paragraphs: [
      `Somebody asked for a new password for the account ${email}. Set it here, within ten minutes and once:`,
      link,
      'Anyone who has the link can set your password, so keep it to yourself. Two-factor authentication stays as it is.',
      'If you did not ask for this, there is nothing to do: your password stays as it is.',
    ],
  }),
  emailChange: ({ oldEmail, newEmail, link }) => ({
    subject: 'Confirm your new address',
    paragraphs: [
      `The account ${oldEmail} is to move to this address, ${newEmail}. Confirm it here, within ten minutes and once:`,
      link,
      'If you know nothing of it, there is nothing to do: nothing changes without this link.',
    ],
  }),
  facts: ({ email, time }) => `Account: ${email}\nTime: ${time}`,
  advice: {
    user: 'If it was you, there is nothing to do. If not, change your password, or ask for a new one, and tell the operator.',
    administrator: 'An administrator of the panel did this. If you did not expect it, ask the operator of the panel.',
    operator: 'The operator of the panel did this. If you did not expect it, ask the operator.',
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
      event: 'New recovery codes were made for your account. The former ones no longer work.',
    }),
    recovery_code_used: ({ left }) => ({
      subject: 'A recovery code was used',
      event: `A recovery code was used in place of a code of your authenticator app. Recovery codes left: ${left}.`,
    }),
    email_change_requested: ({ email }) => ({
      subject: 'A new email address was asked for',
      event: `Somebody who knows your password asked to move your account to ${email}.`,
    }),
    email_changed: ({ email }) => ({
      subject: 'Your email address was changed',
      event: `Your account has moved to ${email}. This is the last email to the present address.`,
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
      event: `An API key of your account gave itself a new secret and a new expiry, from ${key.address}.${expiring(key, format)}${oldSecret(key.previousValidUntil, format)}`,
      advice: `If a script of yours did this, there is nothing to do. If not, delete the key: its holder can keep it working until ${format.time(key.renewableUntil)}.`,
    }),
    api_key_expiry_changed: (key, format) => ({
      subject: 'An API key was given another expiry',
      event: `An API key of your account was given another expiry.${expiring(key, format)}`,
    }),
    api_key_expires: (key, format) => ({
      subject: 'An API key expires soon',
      event: `An API key of your account expires, and what uses it will stop.${expiring(key, format)}`,
      advice: 'If it is still needed, give it a new expiry, or create another key and put it in its place.',
    }),
    api_key_deleted: (key, format) => ({
      subject: 'An API key was deleted',
      event: `An API key of your account was deleted, and what uses it has stopped.${named(key, format)}`,
    }),
    account_unlocked: () => ({
      subject: 'Your account was unlocked',
      event: 'Failed attempts to log in to your account were forgotten, and you can log in from everywhere.',
    }),
    subscription_deleted: ({ name, sites, apiKeys }, { quote }) => ({
      subject: 'A subscription was deleted',
      event: `A subscription of yours was deleted.\nName: ${quote(name)}\nSites deleted with it: ${sites}\nAPI keys deleted with it: ${apiKeys}`,
    }),
    new_address: ({ address }) => ({
      subject: 'Login from a new address',
      event: `Somebody logged in to your account from ${address}, an address that was not used in the last 30 days.`,
    }),
    login_attempts_slowed: () => ({
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
    }),
    session_attempts_slowed: () => ({
      subject: 'Many wrong passwords in a session of your account',
      event:
        'Somebody who is logged in to your account gave wrong passwords or codes, more often than people mistype them. That session now gets one attempt at a time.',
      advice:
        'If it was you, log in again to go on. If not, end that session in the list of your sessions, choose a new password, and tell the operator.',
    }),
  },
}
