/** `ncp doctor` of the compiled binary: on a good installation, and on ones with something really wrong. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../../src/core/clock.ts'
import { ownCertificate } from '../../../src/tls/certificate.ts'
import { type Installation, install } from '../../harness/binary.ts'
import { freePort } from '../../harness/port.ts'
import { stopped } from '../../harness/program.ts'
import { installed, PROXY_PATH } from '../../harness/proxies.ts'
import { startSmtp } from '../../harness/smtp.ts'
import { until } from '../../harness/until.ts'
import { workaroundEnvironment } from '../../harness/workarounds.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

type Check = { name: string; status: 'ok' | 'warning' | 'failed'; message: string; next: string | null }
type Report = { status: Check['status']; checks: Check[] }

const NAMES = [
  ...['versions', 'configuration', 'data directory', 'disk', 'database', 'backups', 'clock', 'panel'],
  ...['ports', 'certificate', 'name', 'proxy', 'mail'],
]

let here: Installation
let port: number
beforeAll(async () => {
  here = await install()
  port = await freePort()
  await (await here.serve()).stop()
})
afterAll(() => here.remove())

async function examine(args: string[] = [], environment: Record<string, string> = {}) {
  const { exitCode, stdout, stderr } = await here.run(['doctor', '--json', ...args], {
    environment: { NCP_PORT: `${port}`, NCP_HOST: '127.0.0.1', ...environment },
  })
  expect(stderr).toBe('')
  const report: Report = JSON.parse(stdout)
  const of = (name: string) => report.checks.filter((check) => check.name === name)
  return { exitCode, report, of }
}

/** What a check says of something that is wrong, and that the command fails for it. */
async function failure(name: string, args: string[] = [], environment: Record<string, string> = {}) {
  const { exitCode, report, of } = await examine(args, environment)
  const found = of(name).find(({ status }) => status === 'failed')
  expect([name, exitCode, report.status, found?.status]).toEqual([name, 1, 'failed', 'failed'])
  return `${found?.message}: ${found?.next}`
}

const contents = () =>
  readdirSync(here.inData(), { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const { mode, uid, gid } = lstatSync(here.inData(name))
      return [name, mode.toString(8), uid, gid]
    })

function giveAway(user: number): void {
  const below = readdirSync(here.inData(), { recursive: true, encoding: 'utf8' }).map((name) => here.inData(name))
  for (const path of [here.directory, here.inData(), ...below]) chownSync(path, user, user)
}

test('the page about health names every check', () => {
  const page = readFileSync(new URL('../../../docs/operations/health.md', import.meta.url), 'utf8')
  for (const name of NAMES) expect(page).toContain(`\`${name}\``)
})

describe('on a good installation', () => {
  test('with a running panel, no check fails', async () => {
    const panel = await here.serve(['--host', '127.0.0.1'])
    const { exitCode, report, of } = await examine([], { NCP_PORT: `${panel.port}` })
    expect(report.checks.filter(({ status }) => status === 'failed')).toEqual([])
    expect([exitCode, report.status]).toEqual([0, 'warning'])
    expect([...new Set(report.checks.map(({ name }) => name))]).toEqual(NAMES)
    expect(of('panel')[0]).toMatchObject({ status: 'ok', message: `it answers on 127.0.0.1 port ${panel.port}` })
    expect(of('database')[0]?.status).toBe('ok')
    expect(of('mail')[0]).toMatchObject({ status: 'warning', next: 'set smtp_url_file, mail_from and public_url' })
    await panel.stop()
  })

  test('with a stopped panel, says so and how to start it', async () => {
    const { exitCode, of } = await examine()
    expect(exitCode).toBe(0)
    expect(of('panel')).toEqual([
      {
        name: 'panel',
        status: 'warning',
        message: `no panel is running; port ${port} is free`,
        next: "start it with 'systemctl start ncp' or 'ncp serve'",
      },
    ])
  })

  test('changes no file, owner or mode, even as root on a service user’s data', async () => {
    const isRoot = process.getuid?.() === 0
    if (isRoot) giveAway(12_345)
    const before = contents()
    expect((await examine()).exitCode).toBe(0)
    expect(contents()).toEqual(before)
    if (isRoot) giveAway(0)
  })

  test('prints one tab-separated line per check without a terminal', async () => {
    const { exitCode, stdout } = await here.run(['doctor'], {
      environment: { NCP_PORT: `${port}`, NCP_HOST: '127.0.0.1' },
    })
    expect(exitCode).toBe(0)
    for (const line of stdout.trimEnd().split('\n')) expect(line).toMatch(/^(ok|warning)\t[a-z ]+\t[^\t]+\t[^\t]*$/)
  })

  test('creates nothing where there is no panel yet', async () => {
    const { exitCode, of } = await examine(['--data', 'nowhere'])
    expect([exitCode, of('data directory')[0]?.message]).toEqual([0, 'nowhere does not exist yet'])
    expect(existsSync(here.path('nowhere'))).toBe(false)
  })
})

describe('reports what is wrong, and how to fix it, for', () => {
  test('a setting', async () => {
    expect(await failure('configuration', [], { NCP_LIMIT_USER: 'many' })).toStartWith('NCP_LIMIT_USER: must be')
  })

  test('a data directory that every user can write to, and a key that others can read', async () => {
    chmodSync(here.inData(), 0o777)
    expect(await failure('data directory')).toBe(
      'every user of this machine can write to ./data (mode 0777): chmod 700 ./data',
    )
    chmodSync(here.inData(), 0o700)
    chmodSync(here.inData('totp.key'), 0o644)
    expect(await failure('data directory')).toStartWith('other users can access data/totp.key (mode 0644): chmod 600')
    chmodSync(here.inData('totp.key'), 0o600)
  })

  test('a database migrated by a newer version', async () => {
    const database = new Database(here.inData('ncp.db'))
    database.run("INSERT INTO schema_migrations VALUES ('9999_future', 'x', 0)")
    expect(await failure('database')).toBe(
      'data/ncp.db was migrated by another version (9999_future): run that version, or restore a backup',
    )
    database.run("DELETE FROM schema_migrations WHERE name = '9999_future'")
    database.close()
  })

  test('a clock that is behind the newest stored time', async () => {
    await here.run(['user', 'create', '--email', 'ada@example.com'])
    const faketime = Bun.which('faketime')
    if (faketime === null && !process.env.CI) return
    const { exitCode, stdout } = Bun.spawnSync(
      ['faketime', '2001-01-01', './ncp', 'doctor', '--json', '--port', `${port}`],
      { cwd: here.directory, env: { PATH: '/usr/bin:/bin', NCP_CONFIG: '/dev/null', ...workaroundEnvironment } },
    )
    const { checks }: Report = JSON.parse(stdout.toString())
    expect([exitCode, checks.find(({ name }) => name === 'clock')?.message]).toEqual([
      1,
      expect.stringContaining('the clock is behind, or was ahead'),
    ])
  })

  test('a truncated backup', async () => {
    const { path } = JSON.parse((await here.run(['backup', 'create', '--json'])).stdout)
    expect((await examine()).of('backups')[0]?.status).toBe('ok')
    truncateSync(here.path(path, 'ncp.db'), 100)
    expect(await failure('backups')).toContain('is damaged: ncp.db is missing, or has another size')
  })

  test('a port that another program holds', async () => {
    const other = Bun.serve({ port, hostname: '127.0.0.1', fetch: () => new Response('another program') })
    expect(await failure('panel')).toBe(
      `port ${port} for the panel is in use by another program: find it with 'ss -tlnp' and stop it, or change port`,
    )
    await other.stop(true)
  })

  test('an expired certificate, and one without the panel’s name', async () => {
    mkdirSync(here.path('given'))
    const DAY_MS = 86_400_000
    const yearsAgo = { ...systemClock, now: () => Date.now() - 3 * 365 * DAY_MS }
    await ownCertificate(here.path('given'), yearsAgo)
    const given = ['--tls-cert', join('given', 'cert.pem'), '--tls-key', join('given', 'key.pem')]
    const { exitCode, of } = await examine(given, { NCP_PUBLIC_URL: 'https://panel.example.com' })
    const messages = of('certificate').map(({ message }) => message)
    expect([exitCode, messages]).toEqual([
      1,
      expect.arrayContaining([expect.stringMatching(/^it expired at \d{4}-/), 'it is not valid for panel.example.com']),
    ])
  })

  test('a name that DNS does not resolve', async () => {
    expect(await failure('name', [], { NCP_PUBLIC_URL: 'https://panel.invalid' })).toContain(
      'DNS does not know panel.invalid',
    )
  })

  test('two panels where only one may run', async () => {
    const panel = await here.serve(['--host', '127.0.0.1', '--no-tls'])
    expect((await here.run(['serve', '--port', '0', '--no-tls'])).exitCode).toBe(1)
    const { of } = await examine(['--no-tls'], { NCP_PORT: `${panel.port}` })
    expect(of('panel')[0]?.status).toBe('ok')
    await panel.stop()
  })
})

test('a pipe in place of a key is reported, and not read', async () => {
  renameSync(here.inData('totp.key'), here.inData('kept'))
  Bun.spawnSync(['mkfifo', here.inData('totp.key')])
  expect(await failure('data directory')).toStartWith('data/totp.key is not a regular file')
  renameSync(here.inData('kept'), here.inData('totp.key'))
})

test('a data directory that this user may not read is one finding, with a fix', async () => {
  const isRoot = process.getuid?.() === 0
  chmodSync(here.directory, 0o755)
  chmodSync(here.inData(), isRoot ? 0o700 : 0)
  const { stdout } = Bun.spawnSync(['./ncp', 'doctor', '--json', '--port', `${port}`, '--host', '127.0.0.1'], {
    cwd: here.directory,
    env: { PATH: '/usr/bin:/bin', NCP_CONFIG: '/dev/null' },
    ...(isRoot && { uid: 12_345, gid: 12_345 }),
  })
  chmodSync(here.inData(), 0o700)
  const { checks }: Report = JSON.parse(stdout.toString())
  expect(checks.filter(({ status }) => status === 'failed')).toEqual([
    {
      name: 'data directory',
      status: 'failed',
      message: `user ${isRoot ? 12_345 : process.getuid?.()} may not read ./data, so nothing in it was checked`,
      next: 'run this as the owner of the directory, or as root',
    },
  ])
  expect(checks.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['versions', 'configuration', 'ports', 'name', 'proxy', 'mail']),
  )
})

test('the panel’s own certificate, when damaged, is reported as damaged, and can be renewed', async () => {
  writeFileSync(here.inData('tls', 'cert.pem'), 'no certificate\n')
  expect(await failure('certificate')).toBe(
    "data/tls/cert.pem is damaged, or its key is missing or another one: a running panel replaces it within a minute; 'ncp cert renew' does so now",
  )
  expect((await here.run(['cert', 'renew'])).exitCode).toBe(0)
  expect((await examine()).of('certificate')[0]?.status).toBe('warning')
})

test.skipIf(!installed('nginx'))(
  'a proxy on this machine is no failure: our own requests would come from here',
  async () => {
    mkdirSync(here.path('proxy'))
    await ownCertificate(here.path('proxy'), systemClock)
    const panel = await here.serve(['--host', '127.0.0.1', '--no-tls'], { NCP_TRUSTED_PROXIES: '127.0.0.1' })
    const proxyPort = await freePort()
    const configuration = `daemon off; pid ${here.path('proxy/pid')}; error_log stderr; ${process.getuid?.() === 0 ? 'user root;' : ''} events {}
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${here.path('proxy', name)};`).join(' ')}
  server {
    listen 127.0.0.1:${proxyPort} ssl;
    ssl_certificate ${here.path('proxy/cert.pem')};
    ssl_certificate_key ${here.path('proxy/key.pem')};
    location / {
      proxy_pass http://127.0.0.1:${panel.port};
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    }
  }
}`
    writeFileSync(here.path('proxy/nginx.conf'), configuration)
    const nginx = Bun.spawn(['nginx', '-e', 'stderr', '-c', here.path('proxy/nginx.conf')], {
      env: { PATH: PROXY_PATH },
      stdout: 'ignore',
      stderr: 'ignore',
    })
    const tls = { ca: readFileSync(here.path('proxy/cert.pem'), 'utf8') }
    await until('nginx', () =>
      fetch(`https://localhost:${proxyPort}/livez`, { tls }).then(
        (answer) => answer.ok,
        () => false,
      ),
    )
    const { of } = await examine(['--no-tls'], {
      NCP_PORT: `${panel.port}`,
      NCP_TRUSTED_PROXIES: '127.0.0.1',
      NCP_PUBLIC_URL: `https://localhost:${proxyPort}`,
      NODE_EXTRA_CA_CERTS: 'proxy/cert.pem',
    })
    expect(of('proxy')).toEqual([
      expect.objectContaining({ status: 'ok', message: expect.stringContaining('through a proxy on this machine') }),
    ])
    await stopped(nginx, 'nginx')
    await panel.stop()
  },
)

describe('the mail server', () => {
  const settings = (mailPort: number, user = 'panel:secret-of-mail@') => ({
    NCP_SMTP_URL: `smtp://${user}127.0.0.1:${mailPort}`,
    NCP_MAIL_FROM: 'ncp@example.com',
    NCP_PUBLIC_URL: 'https://127.0.0.1',
  })

  test('is greeted and logged in to, and is given an email only on request', async () => {
    const smtp = await startSmtp({ credentials: { user: 'panel', password: 'secret-of-mail' } })
    const { of } = await examine([], settings(smtp.at().port))
    expect(of('mail')[0]).toMatchObject({
      status: 'ok',
      message: `127.0.0.1 port ${smtp.at().port} accepts the login`,
    })
    expect(smtp.emails).toEqual([])
    const sent = await examine(['--send-mail', 'ada@example.com'], settings(smtp.at().port))
    expect(sent.of('mail')[0]?.status).toBe('ok')
    expect(smtp.emails.map(({ recipients, subject }) => [recipients, subject])).toEqual([
      [['ada@example.com'], 'Test email of the panel'],
    ])
    await smtp.stop()
  })

  test('that does not answer, or refuses the password, is reported without it', async () => {
    expect(await failure('mail', [], settings(await freePort()))).toContain('ECONNREFUSED')
    const smtp = await startSmtp({ credentials: { user: 'panel', password: 'another' } })
    const told = await failure('mail', [], settings(smtp.at().port))
    expect(told).toContain('check the address, port, password')
    expect(told).not.toContain('secret-of-mail')
    await smtp.stop()
  })

  test('without an installation makes --send-mail fail', async () => {
    expect(await failure('mail', ['--send-mail', 'ada@example.com'])).toContain('no mail server is set')
    const { exitCode, stderr } = await here.run(['doctor', '--send-mail', 'nobody'])
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('It must be an email address.')])
  })
})
