/** The emails in each language: complete, in their own words, and with times as people write them. */
import { describe, expect, test } from 'bun:test'
import type { Notice } from '../../src/mail/notice.ts'
import type { Texts } from '../../src/mail/texts.ts'
import { german } from '../../src/mail/texts-de.ts'
import { english } from '../../src/mail/texts-en.ts'
import { isTimeZone, type Language, wordingFor } from '../../src/mail/wording.ts'

const AT = Date.parse('2027-03-05T17:04:59Z')
const key = { name: 'Deploy "x"', prefix: 'ncp_0123456789abcdef', expiresAt: AT, previousValidUntil: AT }
const samples: { [Kind in Notice['kind']]: Extract<Notice, { kind: Kind }> } = {
  password_set: { kind: 'password_set' },
  two_factor_enabled: { kind: 'two_factor_enabled' },
  two_factor_disabled: { kind: 'two_factor_disabled' },
  two_factor_reset: { kind: 'two_factor_reset' },
  recovery_codes_renewed: { kind: 'recovery_codes_renewed' },
  recovery_code_used: { kind: 'recovery_code_used', left: 7 },
  email_change_requested: { kind: 'email_change_requested', email: 'new@example.com' },
  email_changed: { kind: 'email_changed', email: 'new@example.com' },
  api_key_created: { kind: 'api_key_created', ...key, renewableUntil: AT },
  api_key_rotated: { kind: 'api_key_rotated', ...key },
  api_key_rotated_itself: { kind: 'api_key_rotated_itself', ...key, renewableUntil: AT, address: '203.0.113.7' },
  api_key_expiry_changed: { kind: 'api_key_expiry_changed', ...key },
  api_key_expires: { kind: 'api_key_expires', ...key },
  api_key_deleted: { kind: 'api_key_deleted', ...key },
  account_unlocked: { kind: 'account_unlocked' },
  many_changes: { kind: 'many_changes' },
  subscription_deleted: { kind: 'subscription_deleted', name: 'Hosting', sites: 3, apiKeys: 2 },
  new_address: { kind: 'new_address', address: '203.0.113.7' },
  login_attempts_slowed: { kind: 'login_attempts_slowed' },
  session_attempts_slowed: { kind: 'session_attempts_slowed' },
}
const authors = ['user', 'administrator', 'operator'] as const

/** Every email that there is, in a language. */
function everyEmail(language: Language): Record<string, { subject: string; text: string }> {
  const wording = wordingFor({ language, timeZone: 'UTC' })
  const link = 'https://panel.example.com/reset-password#token=x'
  const about = { email: 'ada@example.com', happenedAt: AT }
  return {
    activation: wording.activation({ email: 'ada@example.com', link }),
    passwordReset: wording.passwordReset({ email: 'ada@example.com', link }),
    emailChange: wording.emailChange({ oldEmail: 'ada@example.com', newEmail: 'new@example.com', link }),
    ...Object.fromEntries(
      Object.values(samples).flatMap((notice) =>
        authors.map((author) => [`${notice.kind} by ${author}`, wording.notice(notice, { ...about, author })]),
      ),
    ),
  }
}

describe('each language', () => {
  test('has the same texts, and none of them is missing', () => {
    const keysOf = (texts: Texts) => [texts, texts.notices, texts.advice].map((part) => Object.keys(part).sort())
    expect(keysOf(german)).toEqual(keysOf(english))
    expect(Object.keys(english.notices).sort()).toEqual(Object.keys(samples).sort())
  })

  test.each(['en', 'de'] as const)('%s fills in every value', (language) => {
    for (const [name, { subject, text }] of Object.entries(everyEmail(language))) {
      expect([name, subject === '', /undefined|null|NaN|\[object|\$\{/.test(subject + text)]).toEqual([
        name,
        false,
        false,
      ])
      expect([name, /[\r\n]/.test(subject)]).toEqual([name, false])
    }
  })

  test('uses its own words', () => {
    const [inEnglish, inGerman] = [everyEmail('en'), everyEmail('de')]
    for (const [name, { subject, text }] of Object.entries(inEnglish)) {
      const other = inGerman[name]
      expect([name, other?.subject === subject, other?.text === text]).toEqual([name, false, false])
      // The values are the same: links, addresses, names and numbers.
      const valuesOf = (words?: string) =>
        (words?.match(/https:\S+|\S+@\S+\.com|ncp_\w+|203\.0\.113\.7/g) ?? []).map((value) =>
          value.replace(/[,:.]$/, ''),
        )
      expect([name, valuesOf(other?.text).sort()]).toEqual([name, valuesOf(text).sort()])
    }
  })
})

test.each([
  ['en', 'UTC', '5 March 2027 at 17:04 UTC'],
  ['de', 'UTC', '5. März 2027 um 17:04 UTC'],
  ['de', 'Europe/Berlin', '5. März 2027 um 18:04 MEZ'],
] as const)('a time in %s and %s is %s', (language, timeZone, told) => {
  const wording = wordingFor({ language, timeZone })
  const about = { email: 'ada@example.com', happenedAt: AT, author: 'user' as const }
  expect(wording.notice({ kind: 'password_set' }, about).text).toContain(`: ${told}\n`)
})

test.each([
  ['Europe/Berlin', true],
  ['UTC', true],
  ['Mars/Olympus', false],
  ['+01:00', false],
  ['', false],
])('%p as a time zone: %p', (text, is) => {
  expect(isTimeZone(text)).toBe(is)
})
