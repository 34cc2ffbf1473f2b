/** The compiled binary itself: what an operator drops onto a node, and what its clients see over TLS. */
import { Database } from 'bun:sqlite'
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { systemClock } from '../../../src/core/clock.ts'
import { ownCertificate } from '../../../src/tls/certificate.ts'
import { type Installation, install, type RunningBinary } from '../../harness/binary.ts'
import { PASSWORD } from '../../harness/panel.ts'
import { type Output, stopped } from '../../harness/program.ts'
import { until } from '../../harness/until.ts'
import { disableWorkarounds } from '../../harness/workarounds.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

const ADMIN = 'admin@localhost'
const CUSTOMER = 'ada@example.com'
/** Removed at the end, also when a test fails half-way. */
const installations: Installation[] = []
afterAll(() => Promise.all(installations.map((installation) => installation.remove())))

async function fresh(): Promise<Installation> {
  const installation = await install()
  installations.push(installation)
  return installation
}

const IS_ROOT = process.getuid?.() === 0

/** Octal permissions of every file below `directory`, by its path. */
function modesBelow(directory: string): Record<string, string> {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  return Object.fromEntries(
    names.map((name) => [name, (statSync(`${directory}/${name}`).mode & 0o777).toString(8).padStart(4, '0')]),
  )
}

function expectRefusal({ exitCode, stdout, stderr }: Output, code: number, message: string | RegExp) {
  expect(stderr).toMatch(message)
  expect(exitCode).toBe(code)
  expect(stdout).toBe('')
  // One line for people; a stack trace names functions and files.
  expect(stderr).not.toMatch(/^\s+at |\$bunfs|\.ts:\d/m)
}

async function tokenOf(panel: RunningBinary, email: string, password: string): Promise<string> {
  const { status, data } = await panel.login(email, password)
  expect(status).toBe(200)
  return data.token
}

describe('a fresh installation', () => {
  let here: Installation
  let panel: RunningBinary
  const kept = { admin: '', customer: '', key: '', siteId: 0 }
  beforeAll(async () => {
    here = await fresh()
    panel = await here.serve()
  })

  const domains = async (as: string) => {
    const { status, data } = await panel.send<{ domain: string }[]>('GET', '/sites', { as })
    return [status, data?.map((site) => site.domain)]
  }

  test('keeps all its files in one directory, readable only by its owner', () => {
    expect(readdirSync(here.directory).sort()).toEqual(['data', 'ncp'])
    expect(statSync(here.inData()).mode & 0o777).toBe(0o700)
    expect(modesBelow(here.inData())).toEqual({
      'initial-admin-password': '0600',
      'jwt.key': '0600',
      'ncp.db': '0600',
      'ncp.db-shm': '0600',
      'ncp.db-wal': '0600',
      'ncp.lock': '0600',
      // A socket, in a directory that only its owner can enter.
      'node.sock': '0660',
      tls: '0700',
      'tls/cert.pem': '0600',
      'tls/key.pem': '0600',
      'totp.key': '0600',
    })
  })

  test('says where the administrator’s password is, but never prints it where it would be logged', async () => {
    const line = `administrator ${ADMIN}, password in data/initial-admin-password\n`
    await until('the line with the administrator', () => panel.stdout().includes(line))
    expect(here.adminPassword()).toMatch(/^[\w-]{43}$/)
    expect(panel.stdout() + panel.stderr()).not.toContain(here.adminPassword())
  })

  test('serves with its own certificate, which clients can verify by name and by address', async () => {
    const certificate = new X509Certificate(here.read('data', 'tls', 'cert.pem'))
    expect(panel.stdout()).toContain(`SHA-256 ${certificate.fingerprint256}\n`)
    for (const name of ['localhost', '127.0.0.1']) {
      const url = `https://${name}:${panel.port}/livez`
      expect((await fetch(url, { tls: { ca: here.read('data', 'tls', 'cert.pem') } })).status).toBe(200)
      // A client that does not know the certificate refuses it: the check above does check.
      await expect(fetch(url)).rejects.toThrow()
    }
  })

  test('takes an administrator, a customer, a site and a key through their first day', async () => {
    kept.admin = await tokenOf(panel, ADMIN, here.adminPassword())
    const created = await panel.send<{ id: number; activation: { token: string } }>('POST', '/admin/users', {
      as: kept.admin,
      body: { email: CUSTOMER, name: 'Ada', role: 'customer' },
    })
    expect(created.status).toBe(201)
    const { id, activation } = created.data
    const activated = await panel.send('POST', '/auth/password-reset/confirm', {
      body: { token: activation.token, password: PASSWORD },
    })
    expect(activated.status).toBe(200)
    const subscription = await panel.send('POST', '/admin/subscriptions', {
      as: kept.admin,
      body: { user_id: id, name: 'Hosting' },
    })
    expect(subscription.status).toBe(201)

    kept.customer = await tokenOf(panel, CUSTOMER, PASSWORD)
    const site = await panel.send<{ id: number }>('POST', '/sites', {
      as: kept.customer,
      body: { domain: 'ada.example' },
    })
    expect(site.status).toBe(201)
    const key = await panel.send<{ key: string }>('POST', '/auth/api-keys', {
      as: kept.customer,
      body: { name: 'Backup' },
    })
    expect([key.status, key.message]).toEqual([201, 'API key created'])
    expect(key.data.key).toMatch(/^ncp_[0-9a-f]{64}$/)
    kept.key = key.data.key
    expect(await domains(kept.key)).toEqual([200, ['ada.example']])
  })

  test('hashes passwords with its native code', () => {
    using database = new Database(here.inData('ncp.db'), { readonly: true })
    const rows = database.query<{ hash: string }, []>('SELECT password_hash AS hash FROM users').all()
    // Its salts have 16 bytes, those of the runtime's own implementation 32.
    const length = disableWorkarounds.includes('native-argon2') ? 43 : 22
    expect(rows.map(({ hash }) => hash.split('$')[4]?.length)).toEqual([length, length])
  })

  test('serves the reference, its assets and the document from the binary', async () => {
    const page = await (await panel.request('/api/docs')).text()
    const assets = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '')
    expect(assets).toHaveLength(4)
    for (const asset of assets) {
      const response = await panel.request(new URL(asset, `${panel.origin}/api/docs`).href.slice(panel.origin.length))
      expect([asset, response.status]).toEqual([asset, 200])
      expect(response.headers.get('content-type')).toMatch(/^(text\/(css|javascript)|image\/png)/)
      expect((await response.bytes()).length).toBeGreaterThan(100)
    }
    expect(await (await panel.request('/api/docs/swagger-ui-bundle.js')).text()).toContain('SwaggerUIBundle')
    const yaml = await panel.request('/api/docs/openapi.yaml')
    expect(yaml.headers.get('content-type')).toStartWith('application/yaml')
    const document = Bun.YAML.parse(await yaml.text()) as { openapi: string; paths: object }
    expect(document.openapi).toStartWith('3.')
    expect(Object.keys(document.paths)).toContain('/api/v1/sites')
  })

  test('answers plain HTTP on the TLS port with neither data nor a redirect', async () => {
    let received = ''
    const socket = connect(panel.port, '127.0.0.1')
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
    })
    socket.on('error', () => undefined)
    socket.write('GET /api/docs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    await until('the end of the connection', () => socket.closed)
    expect(received).not.toMatch(/HTTP|location|<html/i)
    expect((await panel.request('/livez')).status).toBe(200)
  })

  test('reveals no internals in a 500, and logs everything', async () => {
    const database = new Database(here.inData('ncp.db'), { readwrite: true })
    database.run('PRAGMA busy_timeout = 60000')
    database.run('ALTER TABLE sites RENAME TO sites_gone')
    const answer = await panel.send('GET', '/sites', { as: kept.customer })
    database.run('ALTER TABLE sites_gone RENAME TO sites')
    database.close()
    expect([answer.status, answer.data, answer.error]).toEqual([500, null, 'internal server error'])
    expect(answer.message).toBe('Something went wrong on our side; give the operator the X-Request-Id of this response')
    const requestId = answer.headers.get('x-request-id') ?? ''
    expect(requestId).not.toBe('')
    await until('the line in the log', () => panel.stderr().includes(requestId))
    expect(panel.stderr()).toContain('no such table')
    expect(await domains(kept.customer)).toEqual([200, ['ada.example']])
  })

  test('exits with 0 on SIGTERM, and keeps JWT, key and sites for the next start', async () => {
    const password = here.adminPassword()
    const secrets = [here.read('data', 'jwt.key'), here.read('data', 'totp.key'), here.read('data', 'tls', 'cert.pem')]
    expect(await panel.stop('SIGTERM')).toBe(0)
    panel = await here.serve()
    expect(await domains(kept.customer)).toEqual([200, ['ada.example']])
    expect(await domains(kept.key)).toEqual([200, ['ada.example']])
    expect([here.read('data', 'jwt.key'), here.read('data', 'totp.key'), here.read('data', 'tls', 'cert.pem')]).toEqual(
      secrets,
    )
    // The administrator is not created again, and none is announced.
    expect(here.adminPassword()).toBe(password)
    expect(panel.stdout()).not.toContain('administrator')
    const users = await panel.send<{ email: string }[]>('GET', '/admin/users', { as: kept.admin })
    expect(users.data.map((user) => user.email)).toEqual([ADMIN, CUSTOMER])
  })

  test('exits with 0 on SIGINT too', async () => {
    expect(await panel.stop('SIGINT')).toBe(0)
    panel = await here.serve()
  })

  test('deletes the administrator’s initial password for good once it is changed', async () => {
    const changed = await panel.send('POST', '/auth/password', {
      as: kept.admin,
      body: { current_password: here.adminPassword(), new_password: PASSWORD },
    })
    expect(changed.status).toBe(200)
    expect(existsSync(here.inData('initial-admin-password'))).toBe(false)
    await panel.stop()
    panel = await here.serve()
    expect(existsSync(here.inData('initial-admin-password'))).toBe(false)
    await tokenOf(panel, ADMIN, PASSWORD)
  })
})

describe('two installations', () => {
  test('share no secret, and refuse each other’s tokens', async () => {
    const [one, other] = await Promise.all([fresh(), fresh()])
    const panels = await Promise.all([one.serve(), other.serve()])
    for (const name of ['jwt.key', 'totp.key', 'tls/key.pem', 'tls/cert.pem', 'initial-admin-password']) {
      expect(one.read('data', name)).not.toBe(other.read('data', name))
    }
    // Both have a session of the same user, so nothing but the signature tells the tokens apart.
    const tokens = [
      await tokenOf(panels[0], ADMIN, one.adminPassword()),
      await tokenOf(panels[1], ADMIN, other.adminPassword()),
    ]
    const statuses = panels.map((panel) =>
      Promise.all(tokens.map(async (as) => (await panel.send('GET', '/auth/me', { as })).status)),
    )
    expect(await Promise.all(statuses)).toEqual([
      [200, 401],
      [401, 200],
    ])
  })
})

describe('a start', () => {
  let here: Installation
  beforeAll(async () => {
    here = await fresh()
    await (await here.serve()).stop()
  })

  describe('is refused', () => {
    let secret: string
    beforeAll(() => {
      secret = here.read('data', 'jwt.key')
    })
    afterEach(() => {
      rmSync(here.inData('jwt.key'), { recursive: true, force: true })
      writeFileSync(here.inData('jwt.key'), secret, { mode: 0o600 })
    })

    const start = (args: string[] = [], environment: Record<string, string> = {}) =>
      here.run(['serve', '--port', '0', ...args], { environment })

    test('with a short secret, which is not shown', async () => {
      writeFileSync(here.inData('jwt.key'), secret.slice(0, 62))
      const refusal = await start()
      expectRefusal(refusal, 1, /^ncp: .*data\/jwt\.key is not valid: it must contain at least 32 bytes/)
      expect(refusal.stderr).not.toContain(secret.slice(0, 16))
    })

    test('with a secret that is not hex', async () => {
      writeFileSync(here.inData('jwt.key'), 'z'.repeat(64))
      expectRefusal(await start(), 1, /^ncp: .*data\/jwt\.key is not valid/)
    })

    test('when the secret of a database with users is missing, and does not create a new one', async () => {
      rmSync(here.inData('jwt.key'))
      expectRefusal(await start(), 1, /^ncp: .*data\/jwt\.key is missing/)
      expect(existsSync(here.inData('jwt.key'))).toBe(false)
    })

    test('with a secret that cannot be read', async () => {
      // No mode keeps root from reading a file.
      if (IS_ROOT) {
        rmSync(here.inData('jwt.key'))
        mkdirSync(here.inData('jwt.key'))
      } else {
        chmodSync(here.inData('jwt.key'), 0)
      }
      expectRefusal(await start(), 1, /^ncp: .*data\/jwt\.key/)
    })

    test('on a port where another program listens', async () => {
      const other = createServer().listen(0, '::')
      await until('the other program', () => other.listening)
      const { port } = other.address() as { port: number }
      const message = `ncp: port ${port} is in use; choose another one with --port\n`
      expectRefusal(await here.run(['serve', '--port', `${port}`]), 1, message)
      expectRefusal(await here.run(['serve', '--port', `${port}`, '--host', '127.0.0.1']), 1, message)
      other.close()
    })

    test('on a port where a panel already listens', async () => {
      const panel = await here.serve()
      const args = ['serve', '--port', `${panel.port}`, '--data', 'other']
      // A second one that did start would be ended by the deadline of `run`, and not with 1.
      expectRefusal(await here.run(args), 1, `ncp: port ${panel.port} is in use; choose another one with --port\n`)
      await panel.stop()
    })

    test.each([
      [['--host', '192.0.2.1'], '--host: is not an address of this machine'],
      [['--host', 'nowhere.invalid'], '--host: is not an address of this machine'],
      [['--port', '65536'], '--port: must be a number from 0 to 65535'],
      [['--tls-cert', 'ncp'], '--tls-cert: a certificate needs its key: set --tls-key (tls_key) too'],
      [
        ['--no-tls', '--tls-cert', 'ncp', '--tls-key', 'ncp'],
        '--no-tls: turns TLS off, but --tls-cert sets a certificate; remove one of them',
      ],
      [['--tls-cert', 'none.pem', '--tls-key', 'none.pem'], '--tls-cert: cannot read none.pem (ENOENT)'],
      [
        ['--tls-cert', 'data/jwt.key', '--tls-key', 'data/tls/key.pem'],
        '--tls-cert: data/jwt.key contains no certificate in PEM',
      ],
      [
        ['--tls-cert', 'data/tls/cert.pem', '--tls-key', 'data/jwt.key'],
        '--tls-key: data/jwt.key contains no private key in PEM',
      ],
      [
        ['--tls-cert', 'data/tls/key.pem', '--tls-key', 'data/tls/cert.pem'],
        '--tls-cert: data/tls/key.pem contains a key, not a certificate; check which file belongs to which setting',
      ],
    ])('with %j', async (args, message) => {
      expectRefusal(await start(args), 3, `ncp: ${message}\n`)
    })

    test('with a key that is protected by a passphrase, in either format', async () => {
      const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
      const secret = { format: 'pem', cipher: 'aes-256-cbc', passphrase: 'open sesame' } as const
      for (const type of ['pkcs8', 'pkcs1'] as const) {
        writeFileSync(here.path('locked.pem'), privateKey.export({ ...secret, type }))
        const refused = await start(['--tls-cert', 'data/tls/cert.pem', '--tls-key', 'locked.pem'])
        const message =
          'is protected by a passphrase, which the panel cannot ask for; remove it: openssl pkey -in FILE -out NEW'
        expectRefusal(refused, 3, `ncp: --tls-key: locked.pem ${message}\n`)
      }
    })

    test('with the key of another certificate', async () => {
      mkdirSync(here.path('pair'))
      await ownCertificate(here.path('pair'), systemClock)
      const args = ['--tls-cert', 'data/tls/cert.pem', '--tls-key', 'pair/key.pem']
      expectRefusal(
        await start(args),
        3,
        'ncp: --tls-key: pair/key.pem is not the key of the certificate data/tls/cert.pem\n',
      )
    })

    test('with an unknown variable, together with all other mistakes', async () => {
      const environment = { NCP_LIMIT_USERS: '1', NCP_PORT: 'x', NCP_TLS: 'maybe' }
      const refusal = await here.run(['serve'], { environment })
      expectRefusal(refusal, 3, 'NCP_LIMIT_USERS: is not a known setting')
      expect(refusal.stderr.trim().split('\n')).toHaveLength(3)
    })

    test.each([[['serve', 'now']], [['serve', '--prot', '1']], [['sevre']], [[]]])(
      'with the arguments %j, which no command has',
      async (args) => {
        const { exitCode, stdout, stderr } = await here.run(args)
        expect([exitCode, stdout]).toEqual([2, ''])
        expect(stderr).toMatch(args.length > 0 ? /^error: .*\n(.*\n)?See 'ncp( serve)? --help'\.\n$/ : /^Usage: ncp/)
      },
    )
  })

  test.each([
    [['--no-tls'], {}],
    [[], { NCP_TLS: 'false' }],
  ])('with %j and %j serves plain HTTP', async (args, environment) => {
    const panel = await here.serve(args, environment as Record<string, string>)
    expect(panel.origin).toStartWith('http://')
    expect((await panel.login(ADMIN, here.adminPassword())).status).toBe(200)
    expect(await panel.stop()).toBe(0)
  })

  test('with --tls-cert and --tls-key serves that certificate', async () => {
    mkdirSync(here.path('given'))
    const { fingerprint } = await ownCertificate(here.path('given'), systemClock)
    const args = ['--tls-cert', 'given/cert.pem', '--tls-key', 'given/key.pem', '--data', 'elsewhere']
    const panel = await here.serve(args)
    expect(panel.stdout()).toContain(`certificate given/cert.pem, SHA-256 ${fingerprint}\n`)
    expect((await panel.request('/livez')).status).toBe(200)
    const ca = here.read('data', 'tls', 'cert.pem')
    await expect(fetch(`${panel.origin}/livez`, { tls: { ca } })).rejects.toThrow()
    expect(existsSync(here.path('elsewhere', 'tls'))).toBe(false)
    expect(await panel.stop()).toBe(0)
  })

  test('keeps running when nothing reads its output', async () => {
    // The port must be known without the line that tells it.
    const probe = createServer().listen(0)
    await until('a free port', () => probe.listening)
    const { port } = probe.address() as { port: number }
    await new Promise((resolve) => probe.close(resolve))
    const child = Bun.spawn(['./ncp', 'serve', '--no-tls', '--port', `${port}`], {
      cwd: here.directory,
      env: { PATH: '/usr/bin:/bin' },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    await child.stdout.cancel()
    const livez = await until('the panel', async () => {
      if (child.exitCode !== null) return child.exitCode
      return fetch(`http://localhost:${port}/livez`).then(
        (response) => response.status,
        () => undefined,
      )
    })
    expect(livez).toBe(200)
    expect(await stopped(child, 'the panel')).toBe(0)
    expect(await new Response(child.stderr).text()).not.toContain('EPIPE')
  })

  test('with --host listens only there, and shows that address', async () => {
    const panel = await here.serve(['--host', '127.0.0.1'])
    expect(panel.origin).toBe(`https://127.0.0.1:${panel.port}`)
    expect((await panel.request('/livez')).status).toBe(200)
    await expect(fetch(`https://[::1]:${panel.port}/livez`)).rejects.toThrow('ECONNREFUSED')
    await panel.stop()
  })
})

describe('a working directory', () => {
  test('full of traps changes nothing', async () => {
    const here = await fresh()
    const traps = {
      '.env': 'NCP_PORT=1\nNCP_LIMIT_USER=1\nBUN_OPTIONS=--preload ./evil.ts\nNODE_ENV=development\n',
      'bunfig.toml': 'preload = ["./evil.ts"]\n',
      'package.json': '{"type":"commonjs","main":"evil.ts","imports":{"#*":"./evil.ts"},"dependencies":{"elysia":"0"}}',
      'tsconfig.json': '{"compilerOptions":{"baseUrl":".","paths":{"*":["./evil.ts"]}}}',
      'evil.ts': "require('node:fs').writeFileSync('pwned', '')\n",
    }
    for (const [name, text] of Object.entries(traps)) writeFileSync(here.path(name), text)
    const panel = await here.serve()
    const answer = await panel.send('GET', '/auth/me', { as: await tokenOf(panel, ADMIN, here.adminPassword()) })
    expect(answer.headers.get('x-ratelimit-limit')).toBe('120')
    expect((await here.run(['user', 'list'])).exitCode).toBe(0)
    expect(readdirSync(here.directory).sort()).toEqual([...Object.keys(traps), 'data', 'ncp'].sort())
    expect(await panel.stop()).toBe(0)
  })
})
