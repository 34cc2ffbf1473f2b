/** What the compiled binary writes into its log, and what it never writes there or into its database. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { TOTP } from 'otpauth'
import { type Installation, install, type RunningBinary } from '../../harness/binary.ts'
import { type ReceivedEmail, type Smtp, startSmtp } from '../../harness/smtp.ts'
import { until } from '../../harness/until.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

type Line = Record<string, unknown> & { msg: string; level: string }

const NO_LIMITS = { NCP_LIMIT_LOGIN: '1000', NCP_LIMIT_PASSWORD_RESET: '1000', NCP_LIMIT_ANONYMOUS: '1000' }

const linesOf = (text: string): Line[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))

describe('a request', () => {
  let here: Installation
  let panel: RunningBinary
  let token: string
  let key: string
  beforeAll(async () => {
    here = await install()
    panel = await here.serve([], { NCP_LIMIT_ANONYMOUS: '5' })
    token = (await panel.login('admin@localhost', here.adminPassword())).data.token
    key = (await panel.send<{ key: string }>('POST', '/auth/api-keys', { as: token, body: { name: 'x' } })).data.key
  })
  afterAll(() => here.remove())

  /** The line of one request, which is written within a second. */
  async function lineOf(answer: { headers: Headers }): Promise<Line> {
    const id = answer.headers.get('x-request-id') ?? ''
    return until('the line of the request', () => linesOf(panel.stderr()).find(({ requestId }) => requestId === id))
  }

  test('is one line, with the caller and the outcome', async () => {
    const line = await lineOf(await panel.send('GET', '/sites?limit=5', { as: key }))
    expect(Object.keys(line)).toEqual(
      'time level msg requestId method route status durationMs userId credential client'.split(' '),
    )
    expect(line).toMatchObject({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      level: 'info',
      msg: 'request',
      method: 'GET',
      route: '/api/v1/sites',
      status: 200,
      durationMs: expect.any(Number),
      userId: 1,
      credential: 'api_key',
      client: expect.stringMatching(/^(::1|127\.0\.0\.1)$/),
    })
  })

  test('is logged with the pattern of its path, whatever was in the path', async () => {
    const missing = await lineOf(await panel.send('GET', '/sites/424242', { as: token }))
    expect(missing).toMatchObject({ route: '/api/v1/sites/:id', status: 404, credential: 'jwt' })
    const unknown = await lineOf(await panel.send('DELETE', `/sites/1/${key}`, { as: token }))
    expect(unknown).toMatchObject({ route: 'none', status: 404, method: 'DELETE' })
    expect(panel.stderr()).not.toContain('424242')
  })

  test('is also logged when it is refused before routing', async () => {
    const refused = await lineOf(await panel.send('GET', '/auth/me', { as: 'nonsense' }))
    expect(refused).toMatchObject({ status: 401, userId: null, credential: 'none', rejected: 'unknown' })
    const last = await until('the refusal', async () => {
      const answer = await panel.send('GET', '/nowhere')
      return answer.status === 429 && answer
    })
    expect(await lineOf(last)).toMatchObject({ status: 429, route: 'none' })
  })

  test('from a load balancer’s health check is not logged', async () => {
    const probe = await panel.request('/readyz')
    await lineOf(await panel.send('GET', '/auth/me', { as: token }))
    expect(panel.stderr()).not.toContain(probe.headers.get('x-request-id') ?? '-')
  })
})

describe('an installation full of secrets', () => {
  let here: Installation
  let smtp: Smtp
  let output = ''
  /** The bytes of the database and of its log, while running and afterwards. */
  let database = ''
  /** By what it is. */
  const secrets: Record<string, string> = {
    'mail password': 'canary-smtp-Kd83hsQ',
    'first password': 'canary first password 1',
    'second password': 'canary second password 2',
    'wrong password': 'canary wrong password 3',
    'password in a wrong field': 'canary stray password 4',
  }

  beforeAll(async () => {
    here = await install()
    smtp = await startSmtp({ credentials: { user: 'ncp', password: secrets['mail password'] ?? '' } })
    const panel = await here.serve(['--no-tls'], {
      ...NO_LIMITS,
      NCP_LOG_LEVEL: 'debug',
      NCP_SMTP_URL: `smtp://ncp:${secrets['mail password']}@127.0.0.1:${smtp.at().port}`,
      NCP_MAIL_FROM: 'panel@example.com',
      NCP_PUBLIC_URL: 'https://panel.example.com',
    })
    const readDatabase = () => {
      for (const name of readdirSync(here.inData()).filter((name) => name.startsWith('ncp.db'))) {
        database += readFileSync(here.inData(name), 'latin1')
      }
    }
    await fillWithSecrets(panel)
    readDatabase()
    await panel.stop()
    readDatabase()
    output = panel.stderr() + panel.stdout()
  })
  afterAll(async () => {
    await here.remove()
    await smtp.stop()
  })

  async function fillWithSecrets(panel: RunningBinary): Promise<void> {
    const email = 'ada@example.com'
    const password = secrets['first password'] ?? ''
    const keep = <Value extends string>(name: string, value: Value): Value => {
      secrets[name] = value
      return value
    }
    keep('administrator password', here.adminPassword())
    keep('jwt.key', here.read('data', 'jwt.key').trim())
    keep('totp.key', here.read('data', 'totp.key').trim())
    const admin = keep('administrator JWT', (await panel.login('admin@localhost', here.adminPassword())).data.token)
    const created = await panel.send<{ activation: { token: string } }>('POST', '/admin/users', {
      as: admin,
      body: { email, name: 'Ada', role: 'customer' },
    })
    const activation = keep('activation token', created.data.activation.token)
    const confirm = (token: string, password: string) =>
      panel.send('POST', '/auth/password-reset/confirm', { body: { token, password } })
    expect((await confirm(activation, password)).status).toBe(200)

    const login = (totp_code: string | undefined, of = password) =>
      panel.send<{ token: string }>('POST', '/auth/login', {
        body: { email, password: of, ...(totp_code !== undefined && { totp_code }) },
      })
    let as = keep('JWT', (await login(undefined)).data.token)
    await login(undefined, secrets['wrong password'])
    const setup = await panel.send<{ secret: string }>('POST', '/auth/2fa/setup', { as, body: { password } })
    const seed = keep('TOTP seed', setup.data.secret)
    const code = keep('TOTP code', new TOTP({ secret: seed }).generate())
    const enabled = await panel.send<{ recovery_codes: string[] }>('POST', '/auth/2fa/enable', {
      as,
      body: { totp_code: code },
    })
    enabled.data.recovery_codes.forEach((recovery, position) => {
      keep(`recovery code ${position}`, recovery)
    })
    as = keep('second JWT', (await login(secrets['recovery code 0'])).data.token)
    expect((await login('000000')).status).toBe(401)

    const made = await panel.send<{ key: string }>('POST', '/auth/api-keys', {
      as,
      body: { name: 'Deploy', totp_code: secrets['recovery code 3'] },
    })
    const key = keep('API key', made.data.key)
    // Secrets where they don't belong: in the path, the query, a header of another scheme, an unknown field, broken JSON.
    await panel.request(`/api/v1/sites/${key}?api_key=${key}`, { headers: { authorization: `Basic ${as}` } })
    await panel.request(`/api/v1/${as}`)
    await panel.request('/api/v1/sites', { headers: { authorization: `Bearer ${key} ${key}`, cookie: `t=${as}` } })
    const stray = secrets['password in a wrong field']
    await panel.send('POST', '/auth/login', { body: { email: stray, password: stray, pasword: stray } })
    await panel.request('/api/v1/auth/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `{"password":"${password}"`,
    })

    await panel.send('POST', '/auth/password-reset', { body: { email } })
    const link = /#token=([\w-]+)/
    const tokenOf = ({ text }: ReceivedEmail) => link.exec(text)?.[1]
    const emails = () => smtp.to(email).map(tokenOf)
    const reset = keep(
      'reset token',
      await until('the reset email', () => emails().find((token) => token !== undefined && token !== activation)),
    )
    // The next email meets a server that quotes it in its refusal.
    smtp.behave('refuse')
    expect((await confirm(reset, secrets['second password'] ?? '')).status).toBe(200)
    expect((await login(secrets['recovery code 1'], secrets['second password'])).status).toBe(200)

    // Unforeseen failures, while a password, a code and a key are being processed.
    {
      using other = new Database(here.inData('ncp.db'))
      other.run('PRAGMA busy_timeout = 60000')
      const rename = (from: string, to: string) => other.run(`ALTER TABLE ${from} RENAME TO ${to}`)
      const tables = ['recovery_codes', 'sessions', 'api_keys']
      for (const name of tables) rename(name, `gone_${name}`)
      expect((await login(secrets['recovery code 2'], secrets['second password'])).status).toBe(500)
      expect((await panel.send('GET', '/auth/me', { as })).status).toBe(500)
      expect((await panel.send('GET', '/sites', { as: key })).status).toBe(500)
      for (const name of tables) rename(`gone_${name}`, name)
    }
    await until('a refused email', () => panel.stderr().includes('email not sent; it will be tried again'))
  }

  /** A code of six digits may stand within a longer number by chance. */
  const contains = (text: string, secret: string) =>
    new RegExp(`(?<![\\w-])${RegExp.escape(secret)}(?![\\w-])`).test(text)

  test('keeps them all out of its log, whatever goes wrong', () => {
    const lines = linesOf(output)
    expect(lines.filter(({ level }) => level === 'error').length).toBeGreaterThanOrEqual(3)
    expect(lines.filter(({ msg }) => msg === 'request').length).toBeGreaterThan(15)
    expect(Object.keys(secrets).length).toBeGreaterThan(20)
    for (const [name, secret] of Object.entries(secrets)) {
      expect(secret).not.toBe('')
      expect([name, contains(output, secret)]).toEqual([name, false])
    }
    // Nor what the database keeps in their place.
    expect(output).not.toMatch(/\$argon2id|params: |[0-9a-f]{64}/)
  })

  test('keeps them all out of its database', () => {
    expect(database).toContain('ada@example.com')
    for (const [name, secret] of Object.entries(secrets)) {
      expect([name, contains(database, secret)]).toEqual([name, false])
    }
  })
})

describe('NCP_LOG_FILE', () => {
  let here: Installation
  beforeAll(async () => {
    here = await install()
  })
  afterAll(() => here.remove())

  test('receives the log, down to the last request before the end', async () => {
    const panel = await here.serve([], { NCP_LOG_FILE: 'ncp.log' })
    const answer = await panel.send('GET', '/nowhere')
    expect(await panel.stop()).toBe(0)
    expect(panel.stderr()).toBe('')
    expect(statSync(here.path('ncp.log')).mode & 0o777).toBe(0o600)
    const ids = linesOf(here.read('ncp.log')).map(({ requestId }) => requestId)
    expect(ids).toContain(answer.headers.get('x-request-id'))
  })

  test('that cannot be opened is reported before anything is created', async () => {
    const environment = { NCP_LOG_FILE: 'no/such/place/ncp.log', NCP_DATA: 'unmade' }
    const { exitCode, stderr } = await here.run(['serve', '--port', '0'], { environment })
    expect([exitCode, stderr]).toEqual([3, 'ncp: NCP_LOG_FILE: cannot open no/such/place/ncp.log (ENOENT)\n'])
    expect(existsSync(here.path('unmade'))).toBe(false)
  })
})

test('NCP_LOG_FORMAT and NCP_LOG_LEVEL make the log readable, and quiet', async () => {
  const here = await install()
  const text = await here.serve([], { NCP_LOG_FORMAT: 'text' })
  await text.send('GET', '/nowhere')
  await text.stop()
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a colour
  expect(text.stderr()).toMatch(/^\d\d:\d\d:\d\d\.\d{3} \x1b\[36mINFO \x1b\[0m request .*route=.*none/m)
  const quiet = await here.serve([], { NCP_LOG_LEVEL: 'error' })
  await quiet.send('GET', '/nowhere')
  await quiet.stop()
  expect(quiet.stderr()).toBe('')
  await here.remove()
})
