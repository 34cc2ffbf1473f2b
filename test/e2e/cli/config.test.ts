/** `ncp config` of the compiled binary: what an operator reads before and after a change of the settings. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { WORKAROUNDS } from '../../../src/system/workarounds.ts'
import { type Installation, install } from '../../harness/binary.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

const SMTP_URL = 'smtps://ncp:s3cret@mail.example.com'

let here: Installation
beforeAll(async () => {
  here = await install()
  mkdirSync(here.path('secrets'), { mode: 0o700 })
  writeFileSync(here.path('secrets', 'smtp-url'), SMTP_URL, { mode: 0o600 })
  writeFileSync(
    here.path('ncp.toml'),
    `# The settings of this node
port = 8443
trusted_proxies = ["10.0.0.0/8", "::1"]
smtp_url_file = "secrets/smtp-url"
mail_from = "panel@example.com"
public_url = "https://panel.example.com"
`,
  )
})
afterAll(() => here.remove())

describe('config show', () => {
  test('shows every value and its source, and hides secrets', async () => {
    const { exitCode, stdout, stderr } = await here.run(['config', 'show', '--config', 'ncp.toml', '--host', '::1'], {
      environment: { NCP_LIMIT_USER: '7' },
    })
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(stdout.split('\n')).toEqual(
      expect.arrayContaining([
        'data\t./data\tdefault',
        'host\t::1\t--host',
        'port\t8443\tncp.toml:2',
        'tls_cert\t-\tdefault',
        'trusted_proxies\t10.0.0.0/8,::1\tncp.toml:3',
        'smtp_url\t(hidden)\tncp.toml:4',
        'limit_user\t7\tNCP_LIMIT_USER',
      ]),
    )
    expect(stdout).not.toContain('s3cret')
  })

  test('names the workarounds that are disabled', async () => {
    const { stdout } = await here.run(['config', 'show'], { environment: { NCP_DISABLE_WORKAROUNDS: 'all' } })
    expect(stdout).toContain(`\ndisable_workarounds\t${WORKAROUNDS.join(',')}\tNCP_DISABLE_WORKAROUNDS\n`)
    const mistyped = await here.run(['serve', '--port', '0'], { environment: { NCP_DISABLE_WORKAROUNDS: 'walindex' } })
    expect([mistyped.exitCode, mistyped.stderr]).toEqual([
      3,
      `ncp: NCP_DISABLE_WORKAROUNDS: must be names, separated by commas, out of ${WORKAROUNDS.join(', ')}, or all\n`,
    ])
  })

  test('prints one JSON document for scripts, with secrets hidden too', async () => {
    const { stdout } = await here.run(['config', 'show', '--json'], { environment: { NCP_CONFIG: 'ncp.toml' } })
    expect(JSON.parse(stdout)).toMatchObject({
      port: { value: 8443, origin: 'ncp.toml:2' },
      tls_cert: { value: null, origin: 'default' },
      trusted_proxies: { value: ['10.0.0.0/8', '::1'], origin: 'ncp.toml:3' },
      smtp_url: { hidden: true, origin: 'ncp.toml:4' },
    })
    expect(stdout).not.toContain('s3cret')
  })
})

describe('config validate', () => {
  const validate = (toml: string) => {
    writeFileSync(here.path('tried.toml'), toml)
    return here.run(['config', 'validate', '--config', 'tried.toml'])
  }

  test('accepts a configuration that the panel starts with', async () => {
    const { exitCode, stdout } = await here.run(['config', 'validate', '--config', 'ncp.toml'])
    expect([exitCode, stdout]).toEqual([0, 'the configuration is valid\n'])
  })

  test('names every mistake with file and line, and exits with 3', async () => {
    expect(await validate('prot = 1\nport = "8443"\n\nlimit_user = 0\n')).toEqual({
      exitCode: 3,
      stdout: '',
      stderr: `ncp: tried.toml:1: prot: is not a known setting; did you mean port?
tried.toml:2: port: must be a number, without quotes
tried.toml:4: limit_user: must be a number from 1 to 1000000
`,
    })
  })

  test('checks the certificate as the start does', async () => {
    const { exitCode, stderr } = await validate('tls_cert = "ncp.toml"\ntls_key = "ncp.toml"\n')
    // By the line that named it, as every mistake of the file.
    expect([exitCode, stderr]).toEqual([3, 'ncp: tried.toml:1: tls_cert: ncp.toml contains no certificate in PEM\n'])
  })
})

test('a pipe in place of a file is refused at once, and never waited for', async () => {
  Bun.spawnSync(['mkfifo', '-m', '600', here.path('pipe')])
  const refused = async (message: string, args: string[], environment = {}) =>
    expect(await here.run(['config', 'validate', ...args], { environment })).toEqual({
      exitCode: 3,
      stdout: '',
      stderr: `ncp: ${message}\n`,
    })
  await refused('--config: pipe is not a regular file', ['--config', 'pipe'])
  await refused('NCP_SMTP_URL_FILE: pipe is not a regular file', [], { NCP_SMTP_URL_FILE: 'pipe' })
  await refused('--tls-cert: pipe is not a regular file', ['--tls-cert', 'pipe', '--tls-key', 'pipe'])
  await refused('--tls-cert: cannot read . (EISDIR)', ['--tls-cert', '.', '--tls-key', 'pipe'])
})

test('serve and the other commands use the same file', async () => {
  writeFileSync(here.path('panel.toml'), 'data = "elsewhere"\ntls = false\nlimit_probe = 7\n')
  const panel = await here.serve(['--config', 'panel.toml'])
  expect((await panel.request('/livez')).headers.get('x-ratelimit-limit')).toBe('7')
  expect(panel.origin).toStartWith('http://')
  const list = await here.run(['user', 'list', '--config', 'panel.toml'])
  expect([list.exitCode, list.stdout]).toEqual([0, '1\tadmin@localhost\tadmin\tactive\t-\n'])
  expect(await panel.stop()).toBe(0)
})

test('serve refuses an invalid file', async () => {
  writeFileSync(here.path('broken.toml'), 'port = 1\nport = 2\n')
  const { exitCode, stdout, stderr } = await here.run(['serve', '--config', 'broken.toml'])
  expect([exitCode, stdout]).toEqual([3, ''])
  expect(stderr).toStartWith('ncp: broken.toml:2: is not valid TOML')
})
