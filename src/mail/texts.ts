/** What one language has to provide: the text of every email that the panel sends. */
import type { Author, Notice } from './notice.ts'

/** Formats values within a text. */
export type Format = {
  /** A time in milliseconds since the epoch, as people of the language write it, with its zone. */
  time(ms: number): string
  /** A user's text as one quoted line, which cannot pass for ours. */
  quote(text: string): string
}

export type EmailText = { subject: string; paragraphs: string[] }

/** `event` says what happened, `advice` what to do, where the usual advice does not fit. */
export type NoticeText = { subject: string; event: string; advice?: string }

type NoticeTexts = {
  [Kind in Notice['kind']]: (notice: Extract<Notice, { kind: Kind }>, format: Format, author: Author) => NoticeText
}

export type Texts = {
  activation(values: { email: string; link: string }): EmailText
  passwordReset(values: { email: string; link: string }): EmailText
  emailChange(values: { oldEmail: string; newEmail: string; link: string }): EmailText
  notices: NoticeTexts
  /** What to do about a notice, by the author of the reported change. */
  advice: Record<Author, string>
  /** The lines of every notice that say whose account it is about, and when it happened. */
  facts(values: { email: string; time: string }): string
}

export function noticeText(texts: Texts, notice: Notice, format: Format, author: Author): NoticeText {
  // TypeScript doesn't see that the kind picks the function for this very notice.
  const write = texts.notices[notice.kind] as (notice: Notice, format: Format, author: Author) => NoticeText
  return write(notice, format, author)
}
