/** A real mail server for tests, which takes emails, refuses them, or says nothing at all. */
import 'reflect-metadata'
import type { AddressInfo } from 'node:net'
import {
  type JsonGeneralName,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { SMTPConnection } from 'smtp-server/lib/smtp-connection.js'
import type { MailServer } from '../../src/mail/server.ts'

export type ReceivedEmail = {
  /** The envelope's addresses, which decide where an email goes, whatever its headers say. */
  recipients: string[]
  /** Whether it came over TLS. */
  secure: boolean
  /** The user that the client logged in as. */
  user: string | undefined
  raw: string
  parsed: Email
  /** Without the name of the panel, which is before each. */
  subject: string
  text: string
}

/**
 * `hang` takes the connection and never speaks; `refuse` reads the email, quotes it in its answer and does not accept it, for now;
 * the others refuse with 550.
 */
export type Behaviour = 'accept' | 'refuse' | 'hang' | 'refuse the sender' | 'refuse the recipient' | 'refuse the text'

export type SmtpOptions = {
  /** Offers STARTTLS with this certificate, in PEM. */
  tls?: { cert: string; key: string }
  /** TLS from the first byte. */
  implicitTls?: boolean
  /** The login required for sending; without it, none. */
  credentials?: { user: string; password: string }
}

// smtp-server holds back its greeting for 100 ms, to catch clients that speak first; the tests make hundreds of connections.
SMTPConnection.prototype.init = function () {
  this._setListeners(() => this.connectionReady())
}

export type Smtp = Awaited<ReturnType<typeof startSmtp>>

export async function startSmtp({ tls, implicitTls = false, credentials }: SmtpOptions = {}) {
  const emails: ReceivedEmail[] = []
  let behaviour: Behaviour = 'accept'
  let connections = 0
  let onConnection = () => {}

  const options: SMTPServerOptions = {
    ...tls,
    secure: implicitTls,
    disabledCommands: tls && !implicitTls ? [] : ['STARTTLS'],
    authOptional: credentials === undefined,
    closeTimeout: 0,
    // Of no use here, and a DNS server that is slow would delay every email.
    disableReverseLookup: true,
    onConnect(_session, callback) {
      connections++
      onConnection()
      if (behaviour !== 'hang') callback()
    },
    onAuth({ username, password }, _session, callback) {
      const isRight = username === credentials?.user && password === credentials?.password
      callback(isRight ? null : new Error('wrong'), isRight ? { user: username } : undefined)
    },
    onMailFrom(_address, _session, callback) {
      callback(behaviour === 'refuse the sender' ? refusedForGood() : null)
    },
    onRcptTo(_address, _session, callback) {
      callback(behaviour === 'refuse the recipient' ? refusedForGood() : null)
    },
    async onData(stream, session, callback) {
      const raw = await new Response(stream as unknown as ReadableStream).text()
      const parsed = await PostalMime.parse(raw)
      if (behaviour === 'refuse the text') return callback(refusedForGood())
      if (behaviour === 'refuse') {
        callback(Object.assign(new Error(`refused: ${parsed.text?.replaceAll('\n', ' ')}`), { responseCode: 451 }))
        return
      }
      emails.push({
        recipients: session.envelope.rcptTo.map(({ address }) => address),
        secure: session.secure,
        user: session.user as string | undefined,
        raw,
        parsed,
        subject: parsed.subject?.replace(/^[^:]+: /, '') ?? '',
        text: parsed.text ?? '',
      })
      callback()
    },
  }
  const server = new SMTPServer(options)
  // A client that cuts the connection is what some tests are about.
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as AddressInfo

  return {
    emails,
    get connections() {
      return connections
    },

    /** @param host `0.0.0.0` leads to this machine too, and counts as another one */
    at(host = '127.0.0.1'): MailServer {
      return { host, port, implicitTls, credentials }
    },

    /** From the next connection on. */
    behave(next: Behaviour): void {
      behaviour = next
    },

    /** Resolves at the next connection. */
    connected(): Promise<void> {
      return new Promise((resolve) => {
        onConnection = resolve
      })
    },

    /** A recipient's emails, oldest first. */
    to(recipient: string): ReceivedEmail[] {
      return emails.filter(({ recipients }) => recipients.includes(recipient))
    },

    stop(): Promise<void> {
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

const refusedForGood = () => Object.assign(new Error('no'), { responseCode: 550 })

/** A certificate that no authority has signed. */
export async function selfSigned(name: JsonGeneralName): Promise<{ cert: string; key: string }> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=mail server of a test',
    signingAlgorithm: algorithm,
    keys,
    extensions: [new SubjectAlternativeNameExtension([name])],
  })
  const key = PemConverter.encode(await crypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY')
  return { cert: certificate.toString('pem'), key }
}
