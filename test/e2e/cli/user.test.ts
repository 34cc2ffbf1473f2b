/** `ncp user …` beside a running panel: what it changes holds at the panel's very next request. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { TOTP } from 'otpauth'
import { type Installation, install, type RunningBinary } from '../../harness/binary.ts'
import { PASSWORD } from '../../harness/panel.ts'
import type { Output } from '../../harness/program.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

const ADMIN = 'admin@localhost'
const NEW_PASSWORD = 'nine silent herons at dusk'

type Account = { id: number; email: string; name: string; role: string; status: string; two_factor_enabled: boolean }
type Invited = Account & { activation: { token: string; expires_at: string } }

let here: Installation
let panel: RunningBinary
beforeAll(async () => {
  here = await install()
  panel = await here.serve([], { NCP_LIMIT_LOGIN: '1000', NCP_LIMIT_ANONYMOUS: '1000' })
})
afterAll(() => here.remove())

/** Runs `ncp user …` on the data directory of the panel. */
const user = (args: string[], stdin?: string) =>
  here.run(['user', ...args, '--data', here.inData()], stdin === undefined ? {} : { stdin })

async function done(args: string[], stdin?: string): Promise<string> {
  const { exitCode, stdout, stderr } = await user(args, stdin)
  expect([exitCode, stderr]).toEqual([0, ''])
  return stdout
}

async function account<Shape = Account>(args: string[], stdin?: string): Promise<Shape> {
  const stdout = await done([...args, '--json'], stdin)
  expect(stdout.trim().split('\n')).toHaveLength(1)
  return JSON.parse(stdout) as Shape
}

function expectFailure({ exitCode, stdout, stderr }: Output, code: number, message: string) {
  expect([exitCode, stdout]).toEqual([code, ''])
  expect(stderr).toContain(message)
  expect(stderr).not.toMatch(/^\s+at |\$bunfs|\.ts:\d/m)
}

/** The users in the database, without the cost of another process. */
function emails(): string[] {
  const database = new Database(here.inData('ncp.db'), { readonly: true })
  const rows = database.query<{ email: string }, []>('SELECT email FROM users').all()
  database.close()
  return rows.map(({ email }) => email)
}

const me = async (as: string) => (await panel.send('GET', '/auth/me', { as })).status

/** A new customer with a JWT and an API key. */
async function customer(email: string) {
  await account(['create', '--email', email, '--password-stdin'], PASSWORD)
  const login = await panel.login(email, PASSWORD)
  expect(login.status).toBe(200)
  const { token } = login.data
  const key = await panel.send<{ key: string }>('POST', '/auth/api-keys', { as: token, body: { name: 'Script' } })
  expect([await me(token), await me(key.data.key)]).toEqual([200, 200])
  return { email, token, key: key.data.key }
}

describe('user create', () => {
  test('with a password on standard input creates a user who can log in at once', async () => {
    const created = await account(
      ['create', '--email', 'Ada@Example.com', '--name', 'Ada', '--password-stdin'],
      PASSWORD,
    )
    expect(created).toMatchObject({
      email: 'ada@example.com',
      name: 'Ada',
      role: 'customer',
      status: 'active',
      two_factor_enabled: false,
    })
    expect(Object.keys(created)).not.toContain('activation')
    expect((await panel.login('ada@example.com', PASSWORD)).status).toBe(200)
  })

  test('treats the newline that echo adds as the end of the password, not as part of it', async () => {
    await done(['create', '--email', 'echo@example.com', '--password-stdin'], `${PASSWORD}\n`)
    expect((await panel.login('echo@example.com', PASSWORD)).status).toBe(200)
  })

  test('without a password prints a token that activates the user through the API', async () => {
    const invited = await account<Invited>(['create', '--email', 'grace@example.com', '--role', 'admin'])
    expect(invited).toMatchObject({ email: 'grace@example.com', name: 'grace@example.com', role: 'admin' })
    const { token } = invited.activation
    const confirmed = await panel.send('POST', '/auth/password-reset/confirm', { body: { token, password: PASSWORD } })
    expect(confirmed.status).toBe(200)
    const login = await panel.login('grace@example.com', PASSWORD)
    expect((await panel.send('GET', '/admin/users', { as: login.data.token })).status).toBe(200)
  })

  test('prints a human-readable line', async () => {
    const stdout = await done(['create', '--email', 'plain@example.com'])
    expect(stdout).toMatch(
      /^\d+\tplain@example\.com\tcustomer\tactive\t-\nactivation token, valid for 24 hours: [\w-]{43}\n$/,
    )
  })

  test('refuses an address already in use, in any case', async () => {
    const message = 'ncp: email: another user has this address\n'
    expectFailure(await user(['create', '--email', 'ADMIN@localhost']), 1, message)
  })

  test.each([
    ['short', 'ncp: password: must be 8 to 256 characters\n'],
    ['', 'ncp: password: must be 8 to 256 characters\n'],
    ['password123', 'ncp: password: '],
  ])('refuses the password %j and creates no user', async (password, message) => {
    expectFailure(await user(['create', '--email', 'weak@example.com', '--password-stdin'], password), 1, message)
    expect(emails()).not.toContain('weak@example.com')
  })

  test.each([
    [['create']],
    [['create', '--email', 'not an email']],
    [['create', '--email', 'x@example.com', '--role', 'root']],
    [['create', '--email', 'x@example.com', '--name', '']],
    [['create', '--email', 'x@example.com', '--name', 'two\nlines']],
    [['create', '--email', 'x@example.com', '--name', 'x'.repeat(101)]],
    [['create', '--email', 'x@example.com', '--password', PASSWORD]],
    [['create', '--email', 'x@example.com', `--password=${PASSWORD}`]],
    [['create', '--email', 'x@example.com', PASSWORD]],
  ])('treats %j as a usage error and creates no user', async (args) => {
    expectFailure(await user(args), 2, "See 'ncp user create --help'.\n")
    expect(emails()).not.toContain('x@example.com')
  })

  test('on a directory without a panel also creates the administrator, which serve would no longer create', async () => {
    const data = here.path('fresh')
    const created = await here.run(['user', 'create', '--email', 'first@example.com', '--data', data])
    expect(created.exitCode).toBe(0)
    const { stdout } = await here.run(['user', 'list', '--json', '--data', data])
    expect((JSON.parse(stdout) as Account[]).map(({ email, role }) => [email, role])).toEqual([
      [ADMIN, 'admin'],
      ['first@example.com', 'customer'],
    ])
    expect(existsSync(here.path('fresh', 'initial-admin-password'))).toBe(true)
  })
})

describe('user list', () => {
  test('lists all users as JSON and as lines, without their secrets', async () => {
    const users = await account<Account[]>(['list'])
    const lines = (await done(['list'])).trim().split('\n')
    expect(users[0]).toEqual({
      id: 1,
      email: ADMIN,
      name: 'Administrator',
      role: 'admin',
      status: 'active',
      two_factor_enabled: false,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    } as unknown as Account)
    expect(lines).toEqual(users.map(({ id, email, role, status }) => [id, email, role, status, '-'].join('\t')))
    expect(JSON.stringify(users)).not.toMatch(/argon2|password/i)
  })
})

describe('user disable and enable', () => {
  test('end a JWT and a key at the next request; enabling restores the key, but not the JWT', async () => {
    const { email, token, key } = await customer('disable@example.com')
    expect(await account(['disable', email])).toMatchObject({ email, status: 'disabled' })
    expect([await me(token), await me(key)]).toEqual([401, 401])
    expect((await panel.login(email, PASSWORD)).error).toBe('invalid credentials')

    expect(await account(['enable', '--email', email])).toMatchObject({ email, status: 'active' })
    expect([await me(token), await me(key)]).toEqual([401, 200])
    expect((await panel.login(email, PASSWORD)).status).toBe(200)
  })

  test('never disable the last active administrator, but any other', async () => {
    const users = await account<Account[]>(['list'])
    for (const { email, role } of users) if (role === 'admin' && email !== ADMIN) await done(['disable', email])
    const message = 'ncp: This is the last active administrator; make another one first\n'
    expectFailure(await user(['disable', ADMIN]), 1, message)
    expect((await panel.login(ADMIN, here.adminPassword())).status).toBe(200)

    await done(['create', '--email', 'deputy@example.com', '--role', 'admin', '--password-stdin'], PASSWORD)
    await done(['disable', ADMIN])
    expect((await panel.login(ADMIN, here.adminPassword())).status).toBe(401)
    await done(['enable', ADMIN])
  })
})

describe('user passwd', () => {
  test('ends the JWTs, refuses the old password, accepts the new one, and leaves the key', async () => {
    const { email, token, key } = await customer('passwd@example.com')
    await done(['passwd', email, '--password-stdin'], `${NEW_PASSWORD}\n`)
    expect([await me(token), await me(key)]).toEqual([401, 200])
    expect((await panel.login(email, PASSWORD)).status).toBe(401)
    expect((await panel.login(email, NEW_PASSWORD)).status).toBe(200)
  })

  test('refuses an invalid password and changes nothing', async () => {
    const { email, token } = await customer('rules@example.com')
    const refusal = await user(['passwd', email, '--password-stdin'], 'short')
    expectFailure(refusal, 1, 'ncp: password: must be 8 to 256 characters\n')
    expect(await me(token)).toBe(200)
    expect((await panel.login(email, PASSWORD)).status).toBe(200)
  })

  test('reads a password only from standard input', async () => {
    const { email, token } = await customer('arguments@example.com')
    for (const args of [[NEW_PASSWORD], ['--password', NEW_PASSWORD], [`--password=${NEW_PASSWORD}`], ['-p', 'x']]) {
      expectFailure(await user(['passwd', email, ...args], NEW_PASSWORD), 2, "See 'ncp user passwd --help'.\n")
    }
    // There is no terminal to ask on, and standard input was not announced.
    const message = 'give the password with --password-stdin'
    expectFailure(await user(['passwd', email]), 2, message)
    expectFailure(await user(['passwd', email], NEW_PASSWORD), 2, message)
    expect(await me(token)).toBe(200)
  })

  test('of the initial administrator removes the file with the initial password', async () => {
    expect(existsSync(here.inData('initial-admin-password'))).toBe(true)
    await done(['passwd', ADMIN, '--password-stdin'], NEW_PASSWORD)
    expect(existsSync(here.inData('initial-admin-password'))).toBe(false)
    expect((await panel.login(ADMIN, NEW_PASSWORD)).status).toBe(200)
  })
})

describe('user reset-2fa', () => {
  test('lets a user who lost the device log in without a code, and ends the sessions', async () => {
    const { email, token, key } = await customer('reset@example.com')
    const setUp = await panel.send<{ secret: string }>('POST', '/auth/2fa/setup', {
      as: token,
      body: { password: PASSWORD },
    })
    const code = new TOTP({ secret: setUp.data.secret }).generate()
    const enabled = await panel.send('POST', '/auth/2fa/enable', { as: token, body: { totp_code: code } })
    expect(enabled.status).toBe(200)
    expect((await panel.login(email, PASSWORD)).error).toBe('2fa_required')
    expect(await done(['list'])).toMatch(/\treset@example\.com\tcustomer\tactive\t2fa\n/)

    expect(await account(['reset-2fa', email])).toMatchObject({ email, two_factor_enabled: false })
    expect([await me(token), await me(key)]).toEqual([401, 200])
    expect((await panel.login(email, PASSWORD)).status).toBe(200)
  })
})

describe('every command', () => {
  test.each(['passwd', 'disable', 'enable', 'reset-2fa'])(
    '%s refuses an unknown user and a missing argument',
    async (name) => {
      const message = 'ncp: no user has the email nobody@example.com\n'
      expectFailure(await user([name, 'nobody@example.com']), 1, message)
      expectFailure(await user([name]), 2, "error: missing argument 'email'")
    },
  )

  test.each([[['list']], [['disable', ADMIN]]])(
    'refuses a directory without a panel, and creates none (%j)',
    async (args) => {
      const data = here.path('mistyped')
      expectFailure(await here.run(['user', ...args, '--data', data]), 3, `ncp: --data: there is no panel in ${data}`)
      expect(existsSync(data)).toBe(false)
    },
  )

  test('exits with 3 for a bad configuration, and with 2 for an unknown command', async () => {
    const environment = { NCP_DATA: here.inData(), NCP_DATE: 'x' }
    expectFailure(
      await here.run(['user', 'list'], { environment }),
      3,
      'ncp: NCP_DATE: is not a known setting; did you mean NCP_DATA?\n',
    )
    expectFailure(await user(['remove', ADMIN]), 2, "error: unknown command 'remove'")
  })
})
