/** Sends one email through the mail server: plain text, one recipient, over TLS. */
import type { Transporter } from 'nodemailer'
import { isLoopback } from '../core/loopback.ts'
import { parseSender } from './sender.ts'
import type { MailServer } from './server.ts'

export type Mail = {
  /** A stored address, in the strict form of `core/email.ts`. */
  to: string
  /** A text of ours: nothing that a user wrote belongs into a header. The name of the panel is put before it. */
  subject: string
  text: string
}

export type Mailer = {
  /** Connects, goes over to TLS and logs in, as for an email. @throws Error that says what failed */
  verify(): Promise<void>
  /**
   * @param signal cuts the connection
   * @throws Error when the server didn't take the mail, or gave no answer in time
   */
  send(mail: Mail, signal: AbortSignal): Promise<void>
}

export type MailerOptions = {
  server: MailServer
  /** An address, or a name with the address in angle brackets. */
  from: string
  /** Asked for each mail: it stands in the sender, the subject and the signature. */
  panelName(): Promise<string>
  /** Stands below every mail. */
  publicUrl: string
}

/** What the configuration says of email. */
export type MailConfig = {
  mailServer: MailServer | undefined
  mailFrom: string | undefined
  publicUrl: string | undefined
}

const CONNECT_TIMEOUT_MS = 10_000
const IDLE_TIMEOUT_MS = 20_000
/** For the whole mail: a server that sends a byte now and then is never idle. */
export const SEND_TIMEOUT_MS = 60_000

export function createMailer({ server, from, panelName, publicUrl }: MailerOptions): Mailer {
  const sender = parseSender(from)
  const { host, port, implicitTls, credentials } = server
  // On the way to this machine nobody listens, and its mail server has a certificate of its own making at best.
  const crossesNetwork = !isLoopback(host)
  const options = {
    host,
    port,
    secure: implicitTls,
    // ASVS V12.3.1: no mail rather than one that everybody on the way can read.
    requireTLS: crossesNetwork,
    tls: { minVersion: 'TLSv1.2', rejectUnauthorized: crossesNetwork },
    ...(credentials && { auth: { user: credentials.user, pass: credentials.password } }),
    dnsTimeout: CONNECT_TIMEOUT_MS,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: IDLE_TIMEOUT_MS,
    // A message is text, and never a path or an address to fetch it from.
    disableFileAccess: true,
    disableUrlAccess: true,
  } as const
  let transport: Transporter | undefined

  return {
    async verify() {
      const { createTransport } = await import('nodemailer')
      await createTransport(options).verify()
    },

    async send({ to, subject, text }, signal) {
      // Loaded with the first mail: the start need not wait for it.
      transport ??= (await import('nodemailer')).createTransport(options)
      const panel = await panelName()
      await transport.sendMail({
        from: { name: sender.name ?? panel, address: sender.address },
        // An object, so that the address is not parsed once more: a parser may find two in it.
        to: { name: '', address: to },
        subject: `${panel}: ${subject}`,
        text: `${text}\n\n-- \n${panel}, ${publicUrl}\n`,
        // RFC 3834 §5: no out-of-office answers.
        headers: { 'Auto-Submitted': 'auto-generated' },
        signal: AbortSignal.any([signal, AbortSignal.timeout(SEND_TIMEOUT_MS)]),
      })
    },
  }
}

/** @returns undefined where no mail server is configured */
export function configuredMailer(
  { mailServer, mailFrom, publicUrl }: MailConfig,
  panelName: () => Promise<string>,
): Mailer | undefined {
  if (!mailServer || mailFrom === undefined || publicUrl === undefined) return undefined
  return createMailer({ server: mailServer, from: mailFrom, panelName, publicUrl })
}
