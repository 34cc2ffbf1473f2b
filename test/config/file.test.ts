/** The configuration file and the files of secrets: what counts, and what is refused, each with its place. */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError, type Flags, findConfigFile, loadConfig, resolveSettings } from '../../src/config/load.ts'
import { type Config, schema } from '../../src/config/schema.ts'
import { fileKeyOf, type Setting } from '../../src/config/setting.ts'
import { newDirectory } from '../harness/directory.ts'

type Environment = Record<string, string>

const directory = newDirectory('ncp-config-')
afterAll(() => rmSync(directory, { recursive: true }))
const path = join(directory, 'ncp.toml')

const SMTP_URL = 'smtps://ncp:s3cret@mail.example.com'
const TOKEN = '0123456789abcdef'.repeat(4)
const WITH_MAIL = { NCP_MAIL_FROM: 'panel@example.com', NCP_PUBLIC_URL: 'https://panel.example.com' }

/** Writes a file beside the configuration, and tells its path. */
function written(name: string, text: string): string {
  const file = join(directory, name)
  writeFileSync(file, text)
  return file
}

async function load(toml: string, environment: Environment = {}, flags: Flags = {}): Promise<Config> {
  writeFileSync(path, toml)
  return loadConfig(flags, environment, await findConfigFile(path))
}

async function problems(toml: string, environment: Environment = {}): Promise<string[]> {
  try {
    await load(toml, environment)
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as Error).message.replaceAll(`${path}:`, '').split('\n')
  }
  return []
}

describe('a file', () => {
  test('overrides the default; the environment and flags override the file', async () => {
    const toml = 'limit_login = 1\nlimit_user = 1\nport = 1\n'
    const config = await load(toml, { NCP_LIMIT_USER: '2', NCP_PORT: '2' }, { port: '3' })
    expect(config).toMatchObject({ limitPasswordReset: 5, limitLogin: 1, limitUser: 2, port: 3 })
  })

  test('accepts every setting under its own name and type', async () => {
    const toml = `
      data = "/srv/ncp"
      host = '::1'
      port = 8_443
      tls_cert = "cert.pem"
      tls_key = "key.pem"
      acme_email = "ops@example.com"
      acme_directory = "https://ca.example.com/directory"
      acme_http_port = 8080
      acme_webroot = "/var/www"
      admin_email = "root@example.com"
      public_url = "https://panel.example.com"
      mail_from = "panel@example.com"
      trusted_proxies = ["10.0.0.0/8", "::1"]
      metrics_token_file = "${written('token', TOKEN)}"
      max_body_bytes = 2048
      limit_login = 1
      limit_password_reset = 2
      limit_user = 3
      limit_node = 6
      limit_anonymous = 4
      limit_probe = 5
      limit_asset = 7
      security_contact = "https://example.com/security"
      drain_delay_seconds = 6
      drain_seconds = 7
      backup_dir = "/var/backups/ncp"
      sites_host = "::1"
      sites_port = 8080
      sites_tls_port = 9444
      outbound_allow = ["10.0.0.0/8"]
      metrics_host = "::1"
      metrics_port = 9443
      cors_origins = ["https://app.example.com"]
      hsts = "off"
      log_level = "debug"
      log_format = "text"
      log_file = "/var/log/ncp.log"
      disable_workarounds = ["wal-index"]
      smtp_url_file = "${written('smtp', SMTP_URL)}"
    `
    const named = [...toml.matchAll(/^ *(\w+) = /gm)].map(([, name = '']) => name)
    const settings = Object.values(schema) as Setting<unknown>[]
    const keys = settings.map((setting) => fileKeyOf(setting) + (setting.secret ? '_file' : ''))
    // Of a given certificate, one of an authority and plain HTTP there can be one.
    expect([...named, 'acme_domains', 'tls'].sort()).toEqual(keys.sort())
    expect((await load('tls = false')).tls).toBe(false)
    expect((await load('acme_domains = ["panel.example.com"]')).acmeDomains).toEqual(['panel.example.com'])
    expect(await load(toml)).toMatchObject({
      data: '/srv/ncp',
      host: '::1',
      port: 8443,
      tlsCert: 'cert.pem',
      trustedProxies: ['10.0.0.0/8', '::1'],
      corsOrigins: ['https://app.example.com'],
      hsts: 'off',
      metricsPort: 9443,
      metricsToken: TOKEN,
      logLevel: 'debug',
      logFormat: 'text',
      logFile: '/var/log/ncp.log',
      mailServer: { credentials: { password: 's3cret' } },
    })
  })

  test('is named by the command line before the environment, and is optional', async () => {
    const [one, other] = [written('one.toml', 'port = 1'), written('other.toml', 'port = 2')]
    expect((await findConfigFile(one, { NCP_CONFIG: other }))?.path).toBe(one)
    expect((await findConfigFile(undefined, { NCP_CONFIG: other }))?.path).toBe(other)
    expect(loadConfig({}, {}, undefined)).toEqual(loadConfig({}, {}))
  })

  test('must exist when it is named', async () => {
    const missing = join(directory, 'missing.toml')
    await expect(findConfigFile(missing, {})).rejects.toThrow(`--config: cannot read ${missing} (ENOENT)`)
    await expect(findConfigFile(undefined, { NCP_CONFIG: directory })).rejects.toThrow(
      `NCP_CONFIG: cannot read ${directory} (EISDIR)`,
    )
  })

  test('shows the source of each setting', async () => {
    writeFileSync(path, '# mine\n\nlimit_login = 1\nport = 1\n')
    const settings = resolveSettings({ port: '3' }, { NCP_LIMIT_USER: '2' }, await findConfigFile(path))
    const origins = Object.fromEntries(settings.map(({ key, value, origin }) => [key, [value, origin]]))
    expect(origins).toMatchObject({
      limitLogin: [1, `${path}:3`],
      limitUser: [2, 'NCP_LIMIT_USER'],
      port: [3, '--port'],
      limitProbe: [600, 'default'],
    })
    expect(Object.keys(origins)).toEqual(Object.keys(schema))
  })
})

describe('is refused with the line number:', () => {
  test.each([
    ['port = 65536', '1: port: must be a number from 0 to 65535'],
    ['\n\nport = 80.5', '3: port: must be a number from 0 to 65535'],
    ['port = "8443"', '1: port: must be a number, without quotes'],
    ['tls = "false"', '1: tls: must be true or false, without quotes'],
    ['host = 1', '1: host: must be a string, in quotes'],
    ['host = 1979-05-27', '1: host: must be a string, in quotes'],
    ['trusted_proxies = "::1"', '1: trusted_proxies: must be an array of strings, as in ["one", "two"]'],
    ['trusted_proxies = [1]', '1: trusted_proxies: must be an array of strings, as in ["one", "two"]'],
    ['trusted_proxies = ["x"]', '1: trusted_proxies: must be addresses or CIDR ranges, separated by commas'],
    ['prot = 1', '1: prot: is not a known setting; did you mean port?'],
    ['PORT = 1', '1: PORT: is not a known setting; did you mean port?'],
    ['trusted-proxy = []', '1: trusted-proxy: is not a known setting'],
    ['trusted-proxies = []', '1: trusted-proxies: is not a known setting; did you mean trusted_proxies?'],
    ['smtp_url_flie = ""', '1: smtp_url_flie: is not a known setting; did you mean smtp_url_file?'],
    [
      '# limits\n[limit]\nlogin = 1',
      '2: [limit]: settings have no groups; remove this line and use the full name of each setting (see ncp config show)',
    ],
    ['[server]\nport = 3443', '1: [server]: settings have no groups'],
    ['[[port]]\n', '1: [port]: settings have no groups'],
    ['limit.login = 1', '1: limit.login: settings have no groups; write limit_login'],
    ['server.port = 1', '1: server.port: settings have no groups; write port'],
    ['server.name = 1', '1: server.name: settings have no groups'],
    ['config = "other.toml"', '1: config: is not a known setting'],
    ['__proto__ = 1', '1: __proto__: is not a known setting'],
    ['port = 1\nport = 2', '2: is not valid TOML (Defining a key multiple times is invalid)'],
    ['port = 1\nhost = "x', '2: is not valid TOML (Unterminated string constant)'],
    ['\ntls_cert = "cert.pem"', '2: tls_cert: a certificate needs its key: set --tls-key (tls_key) too'],
    [
      'tls_cert = "cert.pem"\ntls_key = "key.pem"\ntls = false',
      '3: tls: turns TLS off, but FILE:1: tls_cert sets a certificate; remove one of them',
    ],
  ])('%j', async (toml, problem) => {
    const found = await problems(toml)
    expect(found[0]).toStartWith(problem.replace('FILE:', ''))
  })

  test('for all mistakes at once, whatever their source', async () => {
    const toml = 'prot = 1\nport = "x"\n\nlimit_user = 0\n'
    expect(await problems(toml, { NCP_TLS: 'maybe', NCP_FOO: '' })).toEqual([
      'NCP_FOO: is not a known setting',
      'NCP_TLS: must be one of true, false',
      '1: prot: is not a known setting; did you mean port?',
      '2: port: must be a number, without quotes',
      '4: limit_user: must be a number from 1 to 1000000',
    ])
  })

  test('in the order of the file, whatever the kind of mistake', async () => {
    const toml = `limit_user = 0
prot = 1
smtp_url_file = "${written('order-smtp', SMTP_URL)}"
[server]
tls_cert = "x"
`
    expect((await problems(toml)).map((problem) => problem.split(':')[0])).toEqual(['1', '2', '3', '3', '4'])
  })
})

describe('a secret', () => {
  const credentials = join(directory, 'credentials')
  mkdirSync(credentials)
  const file = written('smtp-url', `${SMTP_URL}\n`)
  const mailServerOf = ({ mailServer }: Config) => mailServer?.credentials?.password

  test('comes from a file named by a variable or the configuration, without the trailing newline', async () => {
    expect(mailServerOf(await load('', { ...WITH_MAIL, NCP_SMTP_URL_FILE: file }))).toBe('s3cret')
    expect(mailServerOf(await load(`smtp_url_file = "${file}"`, WITH_MAIL))).toBe('s3cret')
  })

  test('comes from the systemd credential of its name, if there is one', async () => {
    const environment = { ...WITH_MAIL, CREDENTIALS_DIRECTORY: credentials }
    expect(mailServerOf(await load('', environment))).toBeUndefined()
    writeFileSync(join(credentials, 'smtp_url'), SMTP_URL)
    expect(mailServerOf(await load('', environment))).toBe('s3cret')
    rmSync(join(credentials, 'smtp_url'))
  })

  test('given twice is refused rather than guessed', async () => {
    const twice = { ...WITH_MAIL, NCP_SMTP_URL: SMTP_URL, NCP_SMTP_URL_FILE: file }
    expect(await problems('', twice)).toEqual(['NCP_SMTP_URL and NCP_SMTP_URL_FILE: set only one of them'])
    const toml = `smtp_url_file = "${file}"`
    expect(await problems(toml, { ...WITH_MAIL, NCP_SMTP_URL: SMTP_URL })).toEqual([
      'NCP_SMTP_URL and 1: smtp_url_file: set only one of them',
    ])
    writeFileSync(join(credentials, 'smtp_url'), SMTP_URL)
    expect(await problems('', { ...WITH_MAIL, NCP_SMTP_URL_FILE: file, CREDENTIALS_DIRECTORY: credentials })).toEqual([
      'NCP_SMTP_URL_FILE and credential smtp_url: set only one of them',
    ])
    rmSync(join(credentials, 'smtp_url'))
  })

  test('is not allowed in the configuration itself', async () => {
    const found = await problems(`smtp_url = "${SMTP_URL}"`)
    expect(found).toEqual([
      '1: smtp_url: is a secret; put it in a file of its own, and set smtp_url_file to the path of that file',
    ])
  })

  test('in a missing or invalid file is refused without being shown', async () => {
    expect(await problems('', { NCP_SMTP_URL_FILE: '/nowhere' })).toEqual([
      'NCP_SMTP_URL_FILE: cannot read /nowhere (ENOENT)',
    ])
    const [wrong = ''] = await problems('', { NCP_SMTP_URL_FILE: written('wrong', 'http://ncp:s3cret@mail') })
    expect(wrong).toStartWith('NCP_SMTP_URL_FILE: must be smtp:// or smtps://')
    expect(wrong).not.toContain('s3cret')
  })
})
