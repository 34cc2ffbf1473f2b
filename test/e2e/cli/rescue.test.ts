/** What an operator does about keys, sessions and throttled users on the server: it holds at the next request. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { type Installation, install, type RunningBinary } from '../../harness/binary.ts'
import { PASSWORD } from '../../harness/panel.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

const EMAIL = 'ada@example.com'

let here: Installation
let panel: RunningBinary
let token: string
beforeAll(async () => {
  here = await install()
  panel = await here.serve([], { NCP_LIMIT_LOGIN: '1000' })
  await run('user', 'create', '--email', EMAIL, '--password-stdin')
  token = await login()
})
afterAll(() => here.remove())

async function run(...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await here.run(args, { stdin: PASSWORD })
  expect([args, exitCode, stderr]).toEqual([args, 0, ''])
  return stdout.trim()
}
async function fails(code: number, message: string, ...args: string[]): Promise<void> {
  const { exitCode, stderr } = await here.run(args)
  expect([args, exitCode]).toEqual([args, code])
  expect(stderr).toContain(message)
}
const login = async () => (await panel.login(EMAIL, PASSWORD)).data?.token
const me = async (as: string) => (await panel.send('GET', '/auth/me', { as })).status

test('key list shows the keys of a user, and key revoke ends one', async () => {
  const made = await panel.send<{ id: number; key: string; key_prefix: string }>('POST', '/auth/api-keys', {
    as: token,
    body: { name: 'Stolen' },
  })
  const { id, key, key_prefix } = made.data
  const free = ['all scopes', 'any address', 'all subscriptions', 'all sites']
  expect(await run('key', 'list', EMAIL)).toBe(
    [id, key_prefix, 'Stolen', 'never used', 'no expiry', ...free].join('\t'),
  )
  expect(JSON.parse(await run('key', 'list', EMAIL, '--json'))).toMatchObject([{ id, name: 'Stolen' }])
  expect(await me(key)).toBe(200)
  await run('key', 'revoke', `${id}`)
  expect(await me(key)).toBe(401)
  await fails(1, 'no API key has this id', 'key', 'revoke', `${id}`)
  await fails(2, 'must be a number', 'key', 'revoke', 'first')
  await fails(1, 'no user has the email', 'key', 'list', 'nobody@example.com')
})

test('key list shows the limits of a key', async () => {
  const admin = (await panel.login('admin@localhost', here.adminPassword())).data.token
  const { data: own } = await panel.send<{ user: { id: number } }>('GET', '/auth/me', { as: token })
  const { data: subscription } = await panel.send<{ id: number }>('POST', '/admin/subscriptions', {
    as: admin,
    body: { user_id: own.user.id, name: 'Hosting' },
  })
  const limits = {
    scopes: ['sites:read', 'sites:write'],
    allowed_cidrs: ['203.0.113.0/24', '2001:db8::/48'],
    subscription_id: subscription.id,
  }
  const made = await panel.send<{ id: number }>('POST', '/auth/api-keys', {
    as: token,
    body: { name: 'CI', ...limits },
  })
  expect(made.status).toBe(201)
  const listed = await run('key', 'list', EMAIL)
  expect(listed.split('\t').slice(2)).toEqual([
    'CI',
    'never used',
    'no expiry',
    'sites:read,sites:write',
    '203.0.113.0/24,2001:db8::/48',
    `subscription ${subscription.id}`,
    'all sites',
  ])
  expect(await run('key', 'revoke', `${made.data.id}`)).toBe(listed)
})

test('session revoke-all ends the sessions of one user, or of all users', async () => {
  expect(await run('session', 'revoke-all', EMAIL)).toBe('1 session ended')
  expect(await me(token)).toBe(401)
  const admin = (await panel.login('admin@localhost', here.adminPassword())).data.token
  token = await login()
  await run('session', 'revoke-all', '--everybody')
  for (const as of [admin, token]) expect(await me(as)).toBe(401)
  token = await login()
  await fails(2, 'give either an email or --everybody', 'session', 'revoke-all')
  await fails(2, 'give either an email or --everybody', 'session', 'revoke-all', EMAIL, '--everybody')
})

test('user unlock lets a throttled user try again', async () => {
  {
    // As if an attacker had guessed for days, here and elsewhere.
    using database = new Database(here.inData('ncp.db'))
    const remembered = [Date.now() + 7 * 24 * 60 * 60 * 1000, Date.now()]
    database.run("INSERT INTO allowances SELECT id, 'door strangers', ?, ? FROM users", remembered)
    database.run(
      "INSERT OR REPLACE INTO allowances SELECT user_id, 'door address ' || address_group, ?, ? FROM known_addresses",
      remembered,
    )
  }
  expect((await panel.login(EMAIL, PASSWORD)).status).toBe(401)
  await run('user', 'unlock', EMAIL)
  expect((await panel.login(EMAIL, PASSWORD)).status).toBe(200)
})

test('user set-email moves a user who lost the mailbox', async () => {
  const moved = 'ada.lovelace@example.com'
  await run('user', 'set-email', EMAIL, '--new', moved)
  expect((await panel.login(EMAIL, PASSWORD)).status).toBe(401)
  expect((await panel.login(moved, PASSWORD)).status).toBe(200)
  await fails(1, 'another user has this address', 'user', 'set-email', moved, '--new', 'admin@localhost')
  await fails(2, 'give the address with --new', 'user', 'set-email', moved)
  await fails(2, 'must be an email address', 'user', 'set-email', moved, '--new', 'nonsense')
  await run('user', 'set-email', moved, '--new', EMAIL)
})

test('user delete deletes a user with everything, but never the last administrator', async () => {
  await fails(2, 'add --yes', 'user', 'delete', EMAIL)
  expect(await me(token)).toBe(200)
  expect(await run('user', 'delete', EMAIL, '--yes')).toMatch(/^\d+\tada@example\.com\tcustomer\tdeleted\t-$/)
  expect(await me(token)).toBe(401)
  expect((await panel.login(EMAIL, PASSWORD)).status).toBe(401)
  await fails(1, 'last active administrator', 'user', 'delete', 'admin@localhost', '--yes')
})

test('a demo is refused among real users', async () => {
  await run('user', 'create', '--email', 'real@example.com', '--password-stdin')
  // A second panel would be refused for being one.
  await panel.stop()
  await fails(3, '--demo: needs its own data directory', 'serve', '--demo', '--port', '0')
})
