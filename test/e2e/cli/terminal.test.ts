/** Commands on a terminal, as a person meets them: tables, sentences, questions, and nothing that a text of others can do. */

import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { type Installation, install, type RunningBinary } from '../../harness/binary.ts'
import { PASSWORD } from '../../harness/panel.ts'
import { onTerminal } from '../../harness/terminal.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

/** Red text, a title for the window, text turned round, and nothing between two letters. */
const HOSTILE = 'CI\x1b[31m\x1b]0;owned\x07\u202egnp\u200bx'

let here: Installation
let panel: RunningBinary
beforeAll(async () => {
  here = await install()
  panel = await here.serve([], { NCP_LIMIT_LOGIN: '1000' })
})
afterAll(() => here.remove())

const screen = (args: string[], options?: Parameters<typeof onTerminal>[2]) => onTerminal(here, args, options)

async function customer(email: string): Promise<{ email: string; token: string; keyId: number }> {
  const made = await here.run(['user', 'create', '--email', email, '--password-stdin'], { stdin: PASSWORD })
  expect([made.exitCode, made.stderr]).toEqual([0, ''])
  const { token } = (await panel.login(email, PASSWORD)).data
  const key = await panel.send<{ id: number }>('POST', '/auth/api-keys', { as: token, body: { name: 'CI' } })
  return { email, token, keyId: key.data.id }
}
const emails = async () =>
  (JSON.parse((await here.run(['user', 'list', '--json'])).stdout) as { email: string }[]).map(({ email }) => email)

function expectSafe(text: string): void {
  for (const part of ['\x1b[31m', '\x1b]0;', '\x07', '\u202e', '\u200b']) expect(text).not.toContain(part)
}

describe('a list', () => {
  test('has a heading and aligned columns on a terminal, and neither in a pipe', async () => {
    const { email, keyId } = await customer('list@example.com')
    const users = await screen(['user', 'list'])
    expect(users.exitCode).toBe(0)
    expect(users.lines[0]).toMatch(/^ID +EMAIL +NAME +ROLE +STATUS +2FA +CREATED$/)
    const row = users.lines.find((line) => line.includes(email)) ?? ''
    expect(row.indexOf(email)).toBe(users.lines[0]?.indexOf('EMAIL') ?? -1)
    const keys = await screen(['key', 'list', email])
    // Columns that say nothing are left out.
    expect(keys.lines[0]).toMatch(/^ID +PREFIX +NAME +LAST USED +EXPIRES$/)
    expect(keys.lines[1]).toMatch(/^ *\d+ +ncp_[0-9a-f]{16} +CI +never +never$/)
    expect((await here.run(['key', 'list', email])).stdout).toStartWith(`${keyId}\tncp_`)
  })

  test('says on a terminal that it is empty, and prints nothing in a pipe', async () => {
    const none = await screen(['backup', 'list'])
    expect(none.lines).toEqual(["No backups in data/backups: 'ncp backup create' creates one."])
    expect(await here.run(['backup', 'list'])).toMatchObject({ exitCode: 0, stdout: '' })
    const keys = await screen(['key', 'list', 'admin@localhost'])
    expect(keys.lines).toEqual(['admin@localhost has no API keys.'])
  })

  test('shows sizes as people read them on a terminal, and bytes in a pipe', async () => {
    const made = await screen(['backup', 'create'])
    expect(made.lines.at(-1)).toMatch(/^Created data\/backups\/ncp-\w+, \d+(\.\d)? [KM]B\.$/)
    expect((await screen(['backup', 'list'])).lines[1]).toMatch(
      /^ncp-\w+ +\d{4}-\d\d-\d\d \d\d:\d\d UTC +\d+(\.\d)? [KM]B +\d/,
    )
    expect((await here.run(['backup', 'list'])).stdout).toMatch(/^ncp-\w+\t\S+Z\t\d+ bytes\t\S+\n$/)
  })

  test('is coloured only on a terminal, and never with NO_COLOR', async () => {
    expect((await screen(['user', 'list'])).raw).toContain('\x1b[1mID')
    expect((await screen(['user', 'list'], { environment: { NO_COLOR: '1' } })).raw).not.toContain('\x1b[')
    expect((await here.run(['user', 'list'], { environment: { FORCE_COLOR: '' } })).stdout).not.toContain('\x1b')
  })
})

describe('an action', () => {
  test('says in a sentence what was done, and what it ended', async () => {
    const { email } = await customer('act@example.com')
    await panel.login(email, PASSWORD)
    expect((await screen(['user', 'disable', email])).lines).toEqual([`Disabled ${email}; 2 sessions ended.`])
    expect((await screen(['user', 'disable', email])).lines).toEqual([`${email} was already disabled.`])
    expect((await screen(['user', 'enable', email])).lines[0]).toStartWith(`Enabled ${email}`)
    expect((await screen(['user', 'unlock', email])).lines[0]).toStartWith(`Unlocked ${email}`)
    const json = await screen(['user', 'enable', email, '--json'])
    expect(JSON.parse(json.lines.join(''))).toMatchObject({ email, status: 'active' })
  })

  test('asks for a password on a terminal, without echo', async () => {
    const { email } = await customer('typed@example.com')
    const password = 'nine silent herons at dusk'
    const typed = await screen(['user', 'passwd', email], {
      answers: [{ when: /New password/, type: `${password}\r` }],
    })
    expect([typed.exitCode, typed.lines.at(-1)]).toEqual([0, `Set the password of ${email}; 1 session ended.`])
    expect(typed.raw).not.toContain(password)
    expect((await panel.login(email, password)).status).toBe(200)
  })
})

describe('an action that cannot be undone', () => {
  test('is done after a yes, and not after a no', async () => {
    const { email } = await customer('delete@example.com')
    const no = await screen(['user', 'delete', email], { answers: [{ when: /permanently\?/, type: 'n' }] })
    expect([no.exitCode, no.lines.at(-1)]).toEqual([1, 'ncp: nothing was changed'])
    expect(await emails()).toContain(email)
    const yes = await screen(['user', 'delete', email], { answers: [{ when: /permanently\?/, type: 'y' }] })
    expect([yes.exitCode, yes.lines.at(-1)]).toEqual([
      0,
      `Deleted ${email} with all API keys, subscriptions and sites.`,
    ])
    expect(await emails()).not.toContain(email)
  })

  test('is not done when the question is interrupted with Ctrl-C', async () => {
    const { email } = await customer('left@example.com')
    const left = await screen(['user', 'delete', email], { answers: [{ when: /permanently\?/, type: '\x03' }] })
    expect(left.exitCode).toBe(1)
    expect(await emails()).toContain(email)
  })

  test('asks nothing with --yes, which a script that loses data must pass', async () => {
    const { email } = await customer('script@example.com')
    const refused = await here.run(['user', 'delete', email])
    expect([refused.exitCode, refused.stdout, refused.stderr.split('\n')]).toEqual([
      2,
      '',
      [
        'error: this deletes data permanently; without a terminal to confirm on, add --yes',
        "See 'ncp user delete --help'.",
        '',
      ],
    ])
    const done = await here.run(['user', 'delete', email, '--yes', '--json'])
    expect([done.exitCode, JSON.parse(done.stdout)]).toEqual([0, expect.objectContaining({ email, status: 'deleted' })])
  })

  test('asks before a key is revoked, with its name and user; a script revokes at once', async () => {
    const { email, keyId } = await customer('revoke@example.com')
    const no = await screen(['key', 'revoke', `${keyId}`], { answers: [{ when: /cannot be undone/, type: 'n' }] })
    expect([no.exitCode, no.lines.join(' ')]).toEqual([1, expect.stringContaining(`of ${email}?`)])
    const revoked = await here.run(['key', 'revoke', `${keyId}`])
    expect([revoked.exitCode, revoked.stdout]).toEqual([0, expect.stringContaining('\tCI\t')])
  })

  test('asks before a user’s second factor is switched off, or the sessions of all users are ended', async () => {
    const { email } = await customer('ask@example.com')
    for (const args of [
      ['user', 'reset-2fa', email],
      ['session', 'revoke-all', '--everybody'],
    ]) {
      const no = await screen(args, { answers: [{ when: /\?/, type: 'n' }] })
      expect([no.exitCode, no.lines.at(-1)]).toEqual([1, 'ncp: nothing was changed'])
    }
  })
})

describe('untrusted text', () => {
  test('is never printed raw: no escape sequences, no characters that reorder or hide text', async () => {
    const { email, keyId } = await customer('hostile@example.com')
    {
      // As an older version, or another program, would have let it in.
      using database = new Database(here.inData('ncp.db'))
      database.run('PRAGMA busy_timeout = 60000')
      database.run('UPDATE api_keys SET name = ? WHERE id = ?', [HOSTILE, keyId])
      database.run('UPDATE users SET name = ? WHERE email = ?', [HOSTILE, email])
    }
    const shown = 'CI\\u001b[31m\\u001b]0;owned\\u0007\\u202egnp\\u200bx'
    const raw = [
      (await screen(['key', 'list', email])).raw,
      (await here.run(['key', 'list', email])).stdout,
      (await screen(['user', 'list'])).raw,
    ]
    for (const text of raw) {
      expect(text).toContain(shown)
      expectSafe(text)
    }
    const asked = await screen(['key', 'revoke', `${keyId}`], { answers: [{ when: /cannot be undone/, type: 'n' }] })
    expectSafe(asked.raw)
    const json = (await here.run(['key', 'list', email, '--json'])).stdout
    expectSafe(json)
    expect(json).not.toContain('\x1b')
    expect(JSON.parse(json)).toMatchObject([{ id: keyId, name: HOSTILE }])
  })

  test('is safe in an error too', async () => {
    for (const args of [
      ['user', HOSTILE],
      ['backup', 'verify', `./${HOSTILE}`],
      ['user', 'create', '--email', HOSTILE],
    ]) {
      const { exitCode, raw } = await screen(args)
      expect(exitCode).toBeGreaterThan(0)
      expect(raw).toContain('\\u001b[31m')
      expectSafe(raw)
    }
  })
})

describe('a usage error', () => {
  test.each<[string[], ...string[]]>([
    [['usr'], "error: unknown command 'usr'", '(Did you mean user?)', "See 'ncp --help'."],
    [['user', 'lst'], "error: unknown command 'lst'", '(Did you mean list?)', "See 'ncp user --help'."],
    [
      ['user', 'create', '--emial', 'ada@example.com'],
      "error: unknown option '--emial'",
      '(Did you mean --email?)',
      "See 'ncp user create --help'.",
    ],
    [['user', 'create'], "error: required option '--email <email>' not specified", "See 'ncp user create --help'."],
  ])('of %j is a few lines that point to the help', async (args, ...lines) => {
    const { exitCode, stdout, stderr } = await here.run(args)
    expect([exitCode, stdout, stderr.trim().split('\n')]).toEqual([2, '', lines])
  })
})

test.each(['-v', '-V', '--version'])('%s prints the version', async (flag) => {
  const { exitCode, stdout } = await here.run([flag])
  expect([exitCode, stdout]).toEqual([0, (await here.run(['version'])).stdout])
})

describe('a long task', () => {
  test('shows its progress on a terminal, and leaves nothing of it behind', async () => {
    const made = await screen(['backup', 'create'])
    expect(made.raw).toMatch(/Copying the database: \d[\d.]* \w+ of \d[\d.]* \w+/)
    const name = /ncp-\d{8}T\d{9}Z/.exec(made.lines.join())?.[0] ?? ''
    expect(made.lines).toEqual([expect.stringMatching(/^Created data\/backups\/ncp-\S+, [\d.]+ [KMG]B\.$/)])
    const verified = await screen(['backup', 'verify'])
    for (const step of ['Reading the files: ', 'Checking the database', 'Verifying the audit log']) {
      expect(verified.raw).toContain(`\r\x1b[2K${step}`)
    }
    expect(verified.lines).toEqual([expect.stringContaining(`${name} is good`)])
    const restored = await screen(['backup', 'restore', `data/backups/${name}`, '--data', 'another'])
    expect(restored.raw).toContain('\r\x1b[2KCopying the files')
    expect(restored.lines[0]).toStartWith(`restored ${name}`)
  })

  test('shows none in a pipe, or in output meant for a program', async () => {
    expect((await here.run(['backup', 'verify'])).stderr).toBe('')
    expect((await here.run(['backup', 'create'])).stderr).toBe('')
    expect((await screen(['backup', 'create', '--json'])).raw).not.toContain('Copying')
  })
})
