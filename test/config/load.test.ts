/** The configuration from flags and variables: which one counts, and what is refused. */
import { describe, expect, test } from 'bun:test'
import { ConfigError, loadConfig } from '../../src/config/load.ts'
import { type Config, schema } from '../../src/config/schema.ts'
import { WORKAROUNDS } from '../../src/system/workarounds.ts'

type Environment = Record<string, string>

/** What is reported, a line a problem. */
function problems(environment: Environment, flags: Parameters<typeof loadConfig>[0] = {}): string[] {
  try {
    loadConfig(flags, environment)
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as Error).message.split('\n')
  }
  return []
}

describe('a value', () => {
  test('is the default when nothing is set, with the limits of the contract', () => {
    expect(loadConfig({}, {})).toMatchObject({
      data: './data',
      port: 3443,
      tls: true,
      adminEmail: 'admin@localhost',
      limitLogin: 10,
      limitPasswordReset: 5,
      limitUser: 120,
    })
  })

  test('in the environment overrides the default', () => {
    expect(loadConfig({}, { NCP_PORT: '8443', NCP_TLS: 'false' })).toMatchObject({ port: 8443, tls: false })
  })

  test('of a flag overrides the environment', () => {
    expect(loadConfig({ port: '9443', tls: true }, { NCP_PORT: '8443', NCP_TLS: 'false' })).toMatchObject({
      port: 9443,
      tls: true,
    })
  })

  test('in the environment holds when the flag is absent', () => {
    expect(loadConfig({ port: undefined }, { NCP_PORT: '8443' }).port).toBe(8443)
  })

  test('of a flag overrides an invalid one in the environment', () => {
    expect(loadConfig({ port: '9443' }, { NCP_PORT: 'x' }).port).toBe(9443)
  })

  test('of every setting can be set by its variable', () => {
    const values: { [Key in keyof Config]: [string, Config[Key]] } = {
      data: ['/srv/ncp', '/srv/ncp'],
      host: ['::1', '::1'],
      port: ['0', 0],
      tls: ['false', false],
      tlsCert: ['cert.pem', 'cert.pem'],
      tlsKey: ['key.pem', 'key.pem'],
      acmeDomains: ['panel.example.com, WWW.example.com', ['panel.example.com', 'www.example.com']],
      acmeEmail: ['ops@example.com', 'ops@example.com'],
      acmeDirectory: ['https://ca.example.com/directory', 'https://ca.example.com/directory'],
      acmeHttpPort: ['8080', 8080],
      acmeWebroot: ['/var/www', '/var/www'],
      adminEmail: ['root@example.com', 'root@example.com'],
      publicUrl: ['https://panel.example.com/', 'https://panel.example.com'],
      mailServer: [
        'smtps://ncp:s%3Acret@mail.example.com',
        {
          host: 'mail.example.com',
          port: 465,
          implicitTls: true,
          credentials: { user: 'ncp', password: 's:cret' },
        },
      ],
      mailFrom: ['panel@example.com', 'panel@example.com'],
      trustedProxies: ['10.0.0.0/8, ::1,', ['10.0.0.0/8', '::1']],
      corsOrigins: [
        'https://app.example.com, http://localhost:5173,https://app.example.com',
        ['https://app.example.com', 'http://localhost:5173'],
      ],
      hsts: ['subdomains', 'subdomains'],
      maxBodyBytes: ['2048', 2048],
      limitLogin: ['1', 1],
      limitPasswordReset: ['2', 2],
      limitUser: ['3', 3],
      limitNode: ['6', 6],
      limitAnonymous: ['4', 4],
      limitProbe: ['5', 5],
      limitAsset: ['7', 7],
      securityContact: ['mailto:security@example.com', 'mailto:security@example.com'],
      drainDelaySeconds: ['0', 0],
      drainSeconds: ['600', 600],
      backupDir: ['/var/backups/ncp', '/var/backups/ncp'],
      sitesHost: ['::1', '::1'],
      sitesPort: ['8080', 8080],
      sitesTlsPort: ['8443', 8443],
      outboundAllow: ['10.0.0.0/8, ::1', ['10.0.0.0/8', '::1']],
      metricsHost: ['::1', '::1'],
      metricsPort: ['9443', 9443],
      metricsToken: ['t'.repeat(32), 't'.repeat(32)],
      logLevel: ['debug', 'debug'],
      logFormat: ['text', 'text'],
      logFile: ['/var/log/ncp/ncp.log', '/var/log/ncp/ncp.log'],
      disableWorkarounds: ['notify, disk-thread', ['disk-thread', 'notify']],
    }
    const keys = Object.keys(values) as (keyof Config)[]
    expect(keys.sort()).toEqual((Object.keys(schema) as (keyof Config)[]).sort())
    // Of a given certificate, one of an authority and plain HTTP there can be one.
    const alone: (keyof Config)[] = ['acmeDomains', 'tls']
    for (const key of alone) {
      expect(loadConfig({}, { [schema[key].env]: values[key][0] })[key]).toEqual(values[key][1])
    }
    const together = keys.filter((key) => !alone.includes(key))
    const environment = Object.fromEntries(together.map((key) => [schema[key].env, values[key][0]]))
    const expected = Object.fromEntries(together.map((key) => [key, values[key][1]]))
    const config = loadConfig({}, environment)
    expect(Object.keys(config).sort()).toEqual(keys.sort())
    expect({ ...config }).toMatchObject({ ...expected, acmeDomains: [], tls: true })
  })

  test('of `all` disables every workaround', () => {
    expect(loadConfig({}, { NCP_DISABLE_WORKAROUNDS: 'all' }).disableWorkarounds).toEqual([...WORKAROUNDS])
    expect(loadConfig({}, { NCP_DISABLE_WORKAROUNDS: '' }).disableWorkarounds).toEqual([])
  })

  test('is not taken from another program’s variable', () => {
    expect(loadConfig({}, { PORT: '1', HOST: 'x', ncp_port: '2', XNCP_PORT: '3' })).toEqual(loadConfig({}, {}))
  })
})

describe('is refused:', () => {
  test.each([
    [{ NCP_PORT: '-1' }, 'NCP_PORT: must be a number from 0 to 65535'],
    [{ NCP_PORT: '65536' }, 'NCP_PORT: must be a number from 0 to 65535'],
    [{ NCP_PORT: '' }, 'NCP_PORT: must be a number from 0 to 65535'],
    [{ NCP_PORT: ' 80' }, 'NCP_PORT: must be a number from 0 to 65535'],
    [{ NCP_PORT: '0x50' }, 'NCP_PORT: must be a number from 0 to 65535'],
    [{ NCP_PORT: '8e3' }, 'NCP_PORT: must be a number from 0 to 65535'],
    [{ NCP_PORT: '80.5' }, 'NCP_PORT: must be a number from 0 to 65535'],
    [{ NCP_PORT: '99999999999999999999' }, 'NCP_PORT: must be a number from 0 to 65535'],
    [{ NCP_LIMIT_USER: '0' }, 'NCP_LIMIT_USER: must be a number from 1 to 1000000'],
    [{ NCP_MAX_BODY_BYTES: '1' }, 'NCP_MAX_BODY_BYTES: must be a number from 1024 to 1048576'],
    [{ NCP_MAX_BODY_BYTES: '1048577' }, 'NCP_MAX_BODY_BYTES: must be a number from 1024 to 1048576'],
    [{ NCP_TLS: 'no' }, 'NCP_TLS: must be one of true, false'],
    [{ NCP_LOG_LEVEL: 'INFO' }, 'NCP_LOG_LEVEL: must be one of debug, info, warn, error, silent'],
    [{ NCP_DATA: '' }, 'NCP_DATA: must not be empty'],
    [
      { NCP_DISABLE_WORKAROUNDS: 'notify,mmap' },
      'NCP_DISABLE_WORKAROUNDS: must be names, separated by commas, out of wal-index, disk-thread, port-handover, thread-priority, native-argon2, notify, clock-status, or all',
    ],
    [{ NCP_HOST: '' }, 'NCP_HOST: must not be empty'],
    [{ NCP_ADMIN_EMAIL: 'root' }, 'NCP_ADMIN_EMAIL: must be an email address'],
    [
      { NCP_TRUSTED_PROXIES: '10.0.0.0/8,nonsense' },
      'NCP_TRUSTED_PROXIES: must be addresses or CIDR ranges, separated by commas',
    ],
    [
      { NCP_TRUSTED_PROXIES: 'fe80::1%eth0' },
      'NCP_TRUSTED_PROXIES: must be addresses or CIDR ranges, separated by commas',
    ],
    ...['security@example.com', 'mailto:', 'http://example.com/', 'https://example.com/\nExpires: 2999', 'tel:1'].map(
      (contact): [Record<string, string>, string] => [
        { NCP_SECURITY_CONTACT: contact },
        'NCP_SECURITY_CONTACT: must be mailto: with an email address, or an https:// URL',
      ],
    ),
    [{ NCP_HSTS: 'on' }, 'NCP_HSTS: must be one of off, host, subdomains'],
    ...[
      '*',
      'null',
      'https://*.example.com',
      'app.example.com',
      'https://app.example.com/',
      'https://app.example.com/login',
      'https://App.example.com',
      'https://app.example.com:443',
      'https://ada@app.example.com',
      'http://app.example.com',
      'file:///',
      'https://app.example.com, *',
    ].map((origins): [Record<string, string>, string] => [
      { NCP_CORS_ORIGINS: origins },
      'NCP_CORS_ORIGINS: must be origins, separated by commas, as a browser sends them: https://app.example.com or https://app.example.com:8443, in lower case, without a path, a trailing slash or the default port (http:// for this machine only; * and null are never allowed)',
    ]),
    [{ NCP_TLS_CERT: 'cert.pem' }, 'NCP_TLS_CERT: a certificate needs its key: set --tls-key (tls_key) too'],
    [{ NCP_TLS_KEY: 'key.pem' }, 'NCP_TLS_KEY: a key needs its certificate: set --tls-cert (tls_cert) too'],
    [
      { NCP_TLS: 'false', NCP_TLS_CERT: 'cert.pem', NCP_TLS_KEY: 'key.pem' },
      'NCP_TLS: turns TLS off, but NCP_TLS_CERT sets a certificate; remove one of them',
    ],
    [
      { NCP_PORT: '8443', NCP_SITES_PORT: '8443' },
      'NCP_SITES_PORT: is the port of the panel too, which NCP_PORT sets; sites need one of their own',
    ],
    [
      { NCP_METRICS_TOKEN: 'short' },
      'NCP_METRICS_TOKEN: must be 32 to 256 characters, only letters, digits and -._~+/',
    ],
    [
      { NCP_METRICS_TOKEN: `${'t'.repeat(40)} x` },
      'NCP_METRICS_TOKEN: must be 32 to 256 characters, only letters, digits and -._~+/',
    ],
    ...['0.0.0.0', '::', '192.0.2.1', 'node.example.com'].map((host): [Record<string, string>, string] => [
      { NCP_METRICS_PORT: '9443', NCP_METRICS_HOST: host },
      'NCP_METRICS_HOST: other machines can reach this address, so the metrics need a token: set NCP_METRICS_TOKEN_FILE, or use 127.0.0.1',
    ]),
    [{ NCP_ACME_DOMAINS: 'localhost' }, 'NCP_ACME_DOMAINS: must be full domain names in ASCII, separated by commas'],
    [
      { NCP_ACME_DOMAINS: '*.example.com' },
      'NCP_ACME_DOMAINS: must be full domain names in ASCII, separated by commas',
    ],
    [{ NCP_ACME_DOMAINS: '192.0.2.1' }, 'NCP_ACME_DOMAINS: must be full domain names in ASCII, separated by commas'],
    [{ NCP_ACME_DIRECTORY: 'http://ca.example.com/' }, 'NCP_ACME_DIRECTORY: must be an https:// URL'],
    [
      { NCP_ACME_DOMAINS: 'a.example.com', NCP_TLS: 'false' },
      'NCP_ACME_DOMAINS: requests a certificate from an authority, but NCP_TLS turns TLS off; remove one of them',
    ],
    [
      { NCP_ACME_DOMAINS: 'a.example.com', NCP_TLS_CERT: 'cert.pem', NCP_TLS_KEY: 'key.pem' },
      'NCP_ACME_DOMAINS: requests a certificate from an authority, but NCP_TLS_CERT sets one; remove one of them',
    ],
    [{ NCP_LIMIT_USERS: '200' }, 'NCP_LIMIT_USERS: is not a known setting; did you mean NCP_LIMIT_USER?'],
    [{ NCP_: '' }, 'NCP_: is not a known setting'],
  ] as [Environment, string][])('%j', (environment, problem) => {
    expect(problems(environment)).toEqual([problem])
  })

  test('a flag, under the name that was typed', () => {
    expect(problems({}, { port: 'x' })).toEqual(['--port: must be a number from 0 to 65535'])
  })

  test('all mistakes at once', () => {
    const environment = { NCP_PORT: 'x', NCP_TLS: '1', NCP_FOO: '', NCP_ADMIN_EMAIL: 'root', NCP_TLS_KEY: 'key.pem' }
    expect(problems(environment, { data: '' }).sort()).toEqual([
      '--data: must not be empty',
      'NCP_ADMIN_EMAIL: must be an email address',
      'NCP_FOO: is not a known setting',
      'NCP_PORT: must be a number from 0 to 65535',
      'NCP_TLS: must be one of true, false',
      'NCP_TLS_KEY: a key needs its certificate: set --tls-cert (tls_cert) too',
    ])
  })

  test('without repeating the value, which may be a misplaced secret', () => {
    const environment = { NCP_PORT: 's3cret-value', NCP_SECRET: 's3cret-value', NCP_ADMIN_EMAIL: 's3cret-value' }
    expect(problems(environment)).toHaveLength(3)
    expect(problems(environment).join()).not.toContain('s3cret-value')
  })
})

test('what tells the client of a panel is no setting, and no mistake: a shell that has it may run a panel too', () => {
  const variables = { NCP_URL: 'x', NCP_KEY: 'x', NCP_KEY_FILE: 'x', NCP_FINGERPRINT: 'x' }
  expect(loadConfig({}, variables)).toEqual(loadConfig({}, {}))
})
