/** Every setting of the program: its key, its default, how it is read, and the help that `--help` prints. */
import { type MailServer, parseMailServer } from '../mail/server.ts'
import { type BrowserConfig, browserSettings } from './browsers.ts'
import { type DiagnosticConfig, diagnosticSettings } from './diagnostics.ts'
import { type MetricsConfig, metricsSettings } from './metrics.ts'
import { addressRanges, domainNames, email, httpsUrl, integer, publicUrl, sender, text, trueOrFalse } from './rules.ts'
import type { Setting } from './setting.ts'
import { type SitesConfig, sitesSettings } from './sites.ts'

type OwnConfig = {
  data: string
  host: string | undefined
  port: number
  tls: boolean
  tlsCert: string | undefined
  tlsKey: string | undefined
  acmeDomains: string[]
  acmeEmail: string | undefined
  acmeDirectory: string
  acmeHttpPort: number
  acmeWebroot: string | undefined
  adminEmail: string
  publicUrl: string | undefined
  mailServer: MailServer | undefined
  mailFrom: string | undefined
  trustedProxies: string[]
  maxBodyBytes: number
  limitLogin: number
  limitPasswordReset: number
  limitUser: number
  limitNode: number
  limitAnonymous: number
  limitProbe: number
  limitAsset: number
  drainDelaySeconds: number
  drainSeconds: number
  backupDir: string | undefined
}

export type Config = OwnConfig & BrowserConfig & SitesConfig & MetricsConfig & DiagnosticConfig

const perMinute = integer(1, 1_000_000)

export const schema: { [Key in keyof Config]: Setting<Config[Key]> } = {
  data: {
    env: 'NCP_DATA',
    flag: '--data <dir>',
    type: 'text',
    default: './data',
    parse: text,
    help: 'directory for the database, the secrets and the certificate; created with mode 0700',
  },
  host: {
    env: 'NCP_HOST',
    flag: '--host <address>',
    type: 'text',
    default: undefined,
    parse: text,
    help: 'address to listen on (default: all, IPv6 and IPv4)',
  },
  port: {
    env: 'NCP_PORT',
    flag: '--port <number>',
    type: 'number',
    default: 3443,
    parse: integer(0, 65_535),
    help: 'port to listen on; 0 picks a free one',
  },
  tls: {
    env: 'NCP_TLS',
    flag: '--no-tls',
    type: 'boolean',
    default: true,
    parse: trueOrFalse,
    help: 'serve over TLS; false serves plain HTTP, behind a proxy that terminates TLS',
    flagHelp: 'serve plain HTTP, behind a proxy that terminates TLS',
  },
  tlsCert: {
    env: 'NCP_TLS_CERT',
    flag: '--tls-cert <file>',
    type: 'text',
    default: undefined,
    parse: text,
    help: 'certificate chain in PEM (default: a self-signed one in the data directory)',
  },
  tlsKey: {
    env: 'NCP_TLS_KEY',
    flag: '--tls-key <file>',
    type: 'text',
    default: undefined,
    parse: text,
    help: 'private key of the certificate, in PEM',
  },
  acmeDomains: {
    env: 'NCP_ACME_DOMAINS',
    type: 'list',
    default: [],
    parse: domainNames,
    help: "domain names, separated by commas, to get a certificate for by ACME; setting them accepts the authority's terms",
  },
  acmeEmail: {
    env: 'NCP_ACME_EMAIL',
    type: 'text',
    default: undefined,
    parse: email,
    help: "email address that the certificate authority may write to; setting it accepts the authority's terms for sites with HTTPS",
  },
  acmeDirectory: {
    env: 'NCP_ACME_DIRECTORY',
    type: 'text',
    default: 'https://acme-v02.api.letsencrypt.org/directory',
    parse: httpsUrl,
    help: "URL of the authority's ACME directory; for a trial, https://acme-staging-v02.api.letsencrypt.org/directory",
  },
  acmeHttpPort: {
    env: 'NCP_ACME_HTTP_PORT',
    type: 'number',
    default: 80,
    parse: integer(1, 65_535),
    help: 'port to open during an HTTP-01 challenge; port 80 of the domain names must lead to it',
  },
  acmeWebroot: {
    env: 'NCP_ACME_WEBROOT',
    type: 'text',
    default: undefined,
    parse: text,
    help: 'instead of that port: document root of the web server on port 80 of the domain names',
  },
  adminEmail: {
    env: 'NCP_ADMIN_EMAIL',
    type: 'text',
    default: 'admin@localhost',
    parse: email,
    help: 'email of the administrator that the first start creates',
  },
  publicUrl: {
    env: 'NCP_PUBLIC_URL',
    type: 'text',
    default: undefined,
    parse: publicUrl,
    help: 'https:// URL at which people reach the panel, for links in emails; required with NCP_SMTP_URL',
  },
  mailServer: {
    env: 'NCP_SMTP_URL',
    type: 'text',
    secret: true,
    default: undefined,
    parse: parseMailServer,
    help: 'mail server, smtp://user:password@host:587 (STARTTLS) or smtps://user:password@host:465',
  },
  mailFrom: {
    env: 'NCP_MAIL_FROM',
    type: 'text',
    default: undefined,
    parse: sender,
    help: 'sender of emails, an address or a name and an address, such as Example <panel@example.com>; required with NCP_SMTP_URL',
  },
  trustedProxies: {
    env: 'NCP_TRUSTED_PROXIES',
    type: 'list',
    default: [],
    parse: addressRanges,
    help: 'addresses or CIDR ranges of proxies, separated by commas, whose X-Forwarded-For is trusted',
  },
  ...browserSettings,
  maxBodyBytes: {
    env: 'NCP_MAX_BODY_BYTES',
    type: 'number',
    default: 65_536,
    parse: integer(1024, 1_048_576),
    help: 'largest request body, in bytes',
  },
  limitLogin: {
    env: 'NCP_LIMIT_LOGIN',
    type: 'number',
    default: 10,
    parse: perMinute,
    help: 'logins per minute from one address',
  },
  limitPasswordReset: {
    env: 'NCP_LIMIT_PASSWORD_RESET',
    type: 'number',
    default: 5,
    parse: perMinute,
    help: 'password resets per minute from one address',
  },
  limitUser: {
    env: 'NCP_LIMIT_USER',
    type: 'number',
    default: 120,
    parse: perMinute,
    help: 'requests per minute of one user, with JWTs and all API keys together',
  },
  limitNode: {
    env: 'NCP_LIMIT_NODE',
    type: 'number',
    default: 1200,
    parse: perMinute,
    help: 'requests per minute of one node',
  },
  limitAnonymous: {
    env: 'NCP_LIMIT_ANONYMOUS',
    type: 'number',
    default: 120,
    parse: perMinute,
    help: 'requests per minute from one address without a valid credential',
  },
  limitProbe: {
    env: 'NCP_LIMIT_PROBE',
    type: 'number',
    default: 600,
    parse: perMinute,
    help: 'health checks per minute from one address',
  },
  limitAsset: {
    env: 'NCP_LIMIT_ASSET',
    type: 'number',
    default: 600,
    parse: perMinute,
    help: 'requests per minute from one address for the files of the API reference',
  },
  drainDelaySeconds: {
    env: 'NCP_DRAIN_DELAY_SECONDS',
    type: 'number',
    default: 0,
    parse: integer(0, 600),
    help: 'seconds that the port stays open after SIGTERM while /readyz fails, so that load balancers notice',
  },
  drainSeconds: {
    env: 'NCP_DRAIN_SECONDS',
    type: 'number',
    default: 10,
    parse: integer(0, 600),
    help: 'seconds that requests in flight have to finish after the port is closed',
  },
  backupDir: {
    env: 'NCP_BACKUP_DIR',
    flag: '--backup-dir <dir>',
    type: 'text',
    default: undefined,
    parse: text,
    help: 'directory for backups, created with mode 0700 (default: backups in the data directory)',
  },
  ...sitesSettings,
  ...metricsSettings,
  ...diagnosticSettings,
}
