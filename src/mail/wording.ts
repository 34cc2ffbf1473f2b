/** Words emails in the panel's language, with times and names formatted for it. */
import type { Queries } from '../db/store.ts'
import type { Author, Notice } from './notice.ts'
import { type EmailText, type Format, noticeText, type Texts } from './texts.ts'
import { german } from './texts-de.ts'
import { english } from './texts-en.ts'

export const LANGUAGES = ['en', 'de'] as const
export type Language = (typeof LANGUAGES)[number]

const TEXTS: Record<Language, Texts> = { en: english, de: german }
const LOCALES: Record<Language, string> = { en: 'en-GB', de: 'de-DE' }

/** What an administrator has set for emails; `timeZone` is a name of the IANA's database. */
export type WordingSettings = { language: Language; timeZone: string }

/** A mail's subject and text. */
export type Words = { subject: string; text: string }

export type Wording = {
  activation(values: { email: string; link: string }): Words
  passwordReset(values: { email: string; link: string }): Words
  emailChange(values: { oldEmail: string; newEmail: string; link: string }): Words
  /** @param happenedAt milliseconds since the epoch */
  notice(notice: Notice, about: { email: string; happenedAt: number; author: Author }): Words
}

/** Reads the settings in a transaction. */
export type FindWording = (queries: Queries) => Promise<Wording>

export function createFindWording(readSettings: (queries: Queries) => Promise<WordingSettings>): FindWording {
  return async (queries) => wordingFor(await readSettings(queries))
}

export function wordingFor({ language, timeZone }: WordingSettings): Wording {
  const texts = TEXTS[language]
  const format = formatFor(language, timeZone)
  const words = ({ subject, paragraphs }: EmailText): Words => ({ subject, text: paragraphs.join('\n\n') })
  return {
    activation: (values) => words(texts.activation(values)),
    passwordReset: (values) => words(texts.passwordReset(values)),
    emailChange: (values) => words(texts.emailChange(values)),
    notice(notice, { email, happenedAt, author }) {
      const { subject, event, advice = texts.advice[author] } = noticeText(texts, notice, format, author)
      const facts = texts.facts({ email, time: format.time(happenedAt) })
      return words({ subject, paragraphs: [event, facts, advice] })
    },
  }
}

/** Whether it is a name of a time zone. Offsets such as `+01:00` are none: they know no summer time. */
export function isTimeZone(text: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(text)) return false
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone: text }))
  } catch {
    return false
  }
}

function formatFor(language: Language, timeZone: string): Format {
  const times = new Intl.DateTimeFormat(LOCALES[language], {
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZoneName: 'short',
    timeZone,
  })
  return { time: (ms) => times.format(ms), quote }
}

/** Characters that nobody sees or that turn the direction of writing (Unicode TR 36 §3.2) are spelled out. */
function quote(text: string): string {
  return JSON.stringify(text).replaceAll(
    /[\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}
