/** A real panel with a real mail server, and a look into the mailboxes. */
import { afterAll } from 'bun:test'
import type { RequestLog } from '../../src/log/log.ts'
import { type PanelOptions, startPanel } from './panel.ts'
import { startSmtp } from './smtp.ts'

/** The URL at which people reach the panel: the base of links in emails. */
export const PUBLIC_URL = 'https://panel.example.com'

export type MailingPanel = Awaited<ReturnType<typeof startMailingPanel>>

/** One for the tests of a file, which stops after them: `const panel = await useMailingPanel()`. */
export async function useMailingPanel(options: PanelOptions = {}, log?: RequestLog): Promise<MailingPanel> {
  const panel = await startMailingPanel(options, log)
  afterAll(panel.stop)
  return panel
}

export async function startMailingPanel(options: PanelOptions = {}, log?: RequestLog) {
  const smtp = await startSmtp()
  const settings = { mailServer: smtp.at(), mailFrom: 'ncp@example.com', publicUrl: PUBLIC_URL }
  const panel = await startPanel({ ...settings, ...options }, log)

  /** All emails that a recipient has received, oldest first; queued ones are sent first. */
  async function emailsTo(email: string) {
    await panel.services.passwordReset.flush()
    await panel.services.outbox.deliver()
    return smtp.to(email)
  }

  return {
    ...panel,
    smtp,
    emailsTo,
    subjectsTo: async (email: string) => (await emailsTo(email)).map(({ subject }) => subject),

    async stop(): Promise<void> {
      await panel.stop()
      await smtp.stop()
    },
  }
}

/** A time as emails in English tell it. @param at milliseconds since the epoch, or RFC 3339 */
export function spokenTime(at: number | string): string {
  const date = new Date(at)
  const month = [
    ...['January', 'February', 'March', 'April', 'May', 'June'],
    ...['July', 'August', 'September', 'October', 'November', 'December'],
  ][date.getUTCMonth()]
  return `${date.getUTCDate()} ${month} ${date.getUTCFullYear()} at ${date.toISOString().slice(11, 16)} UTC`
}
