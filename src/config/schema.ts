/** Every setting of the program: its key, its default, how it is read, and the help that `--help` prints. */
import { isEmailAddress } from '../core/email.ts'
import type { LogLevel } from '../core/log.ts'
import { isLoopback } from '../core/loopback.ts'
import { type MailServer, parseMailServer } from '../mail/server.ts'

export type Config = {
  data: string
  host: string | undefined
  port: number
  tls: boolean
  tlsCert: string | undefined
  tlsKey: string | undefined
  adminEmail: string
  publicUrl: string | undefined
  mailServer: MailServer | undefined
  mailFrom: string | undefined
  trustedProxies: string[]
  maxBodyBytes: number
  limitLogin: number
  limitPasswordReset: number
  limitUser: number
  limitAnonymous: number
  limitProbe: number
  logLevel: LogLevel
}

export type Setting<Value> = {
  /** The environment variable. */
  env: string
  /** The command-line flag of `serve`, where there is one. */
  flag?: string
  default: Value
  /** @throws Error that says what the text must be */
  parse(text: string): Value
  help: string
}

/** An empty variable is a slip of the script that sets it, never a directory or an address. */
function text(value: string): string {
  if (value === '') throw new Error('must not be empty')
  return value
}

function whole(minimum: number, maximum: number) {
  return (value: string) => {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
    if (!(number >= minimum && number <= maximum)) throw new Error(`must be a number from ${minimum} to ${maximum}`)
    return number
  }
}

function oneOf<const Values extends readonly string[]>(...values: Values) {
  return (value: string): Values[number] => {
    if (!values.includes(value)) throw new Error(`must be one of ${values.join(', ')}`)
    return value
  }
}

function list(value: string): string[] {
  return value.split(',').flatMap((entry) => entry.trim() || [])
}

function email(value: string): string {
  if (!isEmailAddress(value)) throw new Error('must be an email address')
  return value
}

/** The base of links in mails: nothing but a place that the reader's browser reaches in private (ASVS V1.2.2). */
function publicUrl(value: string): string {
  const url = URL.parse(value)
  const host = url?.hostname.replace(/^\[(.*)\]$/, '$1') ?? ''
  const isPrivate = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(host))
  if (!url || !isPrivate || url.username + url.password + url.search + url.hash !== '' || /[?#@]/.test(value)) {
    throw new Error('must be an https:// URL without user, query and fragment (http:// for this machine only)')
  }
  return url.href.replace(/\/+$/, '')
}

const perMinute = whole(1, 1_000_000)

export const schema: { [Key in keyof Config]: Setting<Config[Key]> } = {
  data: {
    env: 'NCP_DATA',
    flag: '--data <dir>',
    default: './data',
    parse: text,
    help: 'directory of the database, the secrets and the certificate; made with mode 0700',
  },
  host: {
    env: 'NCP_HOST',
    flag: '--host <address>',
    default: undefined,
    parse: text,
    help: 'address to listen on (default: all, IPv6 and IPv4)',
  },
  port: {
    env: 'NCP_PORT',
    flag: '--port <number>',
    default: 3443,
    parse: whole(0, 65_535),
    help: 'port to listen on; 0 takes a free one',
  },
  tls: {
    env: 'NCP_TLS',
    flag: '--no-tls',
    default: true,
    parse: (value) => oneOf('true', 'false')(value) === 'true',
    help: 'serve plain HTTP, for a proxy in front that terminates TLS',
  },
  tlsCert: {
    env: 'NCP_TLS_CERT',
    flag: '--tls-cert <file>',
    default: undefined,
    parse: text,
    help: 'certificate chain in PEM (default: a self-signed one in the data directory)',
  },
  tlsKey: {
    env: 'NCP_TLS_KEY',
    flag: '--tls-key <file>',
    default: undefined,
    parse: text,
    help: 'private key of the certificate in PEM',
  },
  adminEmail: {
    env: 'NCP_ADMIN_EMAIL',
    default: 'admin@localhost',
    parse: text,
    help: 'email of the administrator that the first start makes',
  },
  publicUrl: {
    env: 'NCP_PUBLIC_URL',
    default: undefined,
    parse: publicUrl,
    help: 'https:// URL under which people reach the panel, for links in mails; required with NCP_SMTP_URL',
  },
  mailServer: {
    env: 'NCP_SMTP_URL',
    default: undefined,
    parse: parseMailServer,
    help: 'mail server, smtp://user:password@host:587 (STARTTLS) or smtps://user:password@host:465; holds a secret',
  },
  mailFrom: {
    env: 'NCP_MAIL_FROM',
    default: undefined,
    parse: email,
    help: 'sender of mails; required with NCP_SMTP_URL',
  },
  trustedProxies: {
    env: 'NCP_TRUSTED_PROXIES',
    default: [],
    parse: list,
    help: 'addresses or CIDR ranges, separated by commas, whose X-Forwarded-For is believed',
  },
  maxBodyBytes: {
    env: 'NCP_MAX_BODY_BYTES',
    default: 65_536,
    parse: whole(1024, 1_048_576),
    help: 'longest request body, in bytes',
  },
  limitLogin: {
    env: 'NCP_LIMIT_LOGIN',
    default: 10,
    parse: perMinute,
    help: 'logins per minute and address',
  },
  limitPasswordReset: {
    env: 'NCP_LIMIT_PASSWORD_RESET',
    default: 5,
    parse: perMinute,
    help: 'password resets per minute and address',
  },
  limitUser: {
    env: 'NCP_LIMIT_USER',
    default: 120,
    parse: perMinute,
    help: 'requests per minute and user, JWTs and all keys together',
  },
  limitAnonymous: {
    env: 'NCP_LIMIT_ANONYMOUS',
    default: 120,
    parse: perMinute,
    help: 'requests per minute and address without a valid credential',
  },
  limitProbe: {
    env: 'NCP_LIMIT_PROBE',
    default: 600,
    parse: perMinute,
    help: 'health requests per minute and address',
  },
  logLevel: {
    env: 'NCP_LOG_LEVEL',
    default: 'info',
    parse: oneOf('debug', 'info', 'warn', 'error', 'silent'),
    help: 'debug, info, warn, error or silent',
  },
}
