/** Resetting a password by email: the same response to everyone, a link that works once, and no way around 2FA. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { TOTP } from 'otpauth'
import type { Config } from '../../../src/config/schema.ts'
import { stranger } from '../../harness/actors.ts'
import { newDirectory } from '../../harness/directory.ts'
import { afterGrace } from '../../harness/grace.ts'
import { createTestLog } from '../../harness/log.ts'
import { type Customer, PASSWORD, type Panel, startPanel } from '../../harness/panel.ts'
import { sendRaw } from '../../harness/raw.ts'
import { type Smtp, startSmtp } from '../../harness/smtp.ts'

const NEW_PASSWORD = 'an altogether different one'
const PUBLIC_URL = 'https://panel.example.com:3443'
const THE_ANSWER = {
  status: 200,
  data: null,
  error: null,
  message: 'If the address is known, an email is on its way',
}
const LINK = /^https:\/\/panel\.example\.com:3443\/reset-password#token=([\w-]{43})$/m

const log = createTestLog()
let smtp: Smtp
let panel: Panel
let settings: Partial<Config>
beforeAll(async () => {
  smtp = await startSmtp()
  settings = { mailServer: smtp.at(), mailFrom: 'ncp@example.com', publicUrl: PUBLIC_URL }
  panel = await startPanel(settings, log)
})
afterAll(async () => {
  await panel.stop()
  await smtp.stop()
})

const ask = (email: unknown, headers: Record<string, string> = {}) =>
  panel.send('POST', '/auth/password-reset', { body: { email }, headers })
const confirm = (token: string, password = NEW_PASSWORD) =>
  panel.post<null>('/auth/password-reset/confirm', undefined, { token, password })
const login = (email: string, password: string, totp_code?: string) =>
  panel.post<{ token: string }>('/auth/login', undefined, { email, password, ...(totp_code && { totp_code }) })

/** Does what a panel does from time to time: processes the requests, sends the emails. */
async function sendEmails({ services } = panel): Promise<void> {
  await services.passwordReset.flush()
  await services.outbox.deliver()
}

/** The reset emails that a user has received. */
async function resetEmails(email: string) {
  await sendEmails()
  return smtp.to(email).filter(({ subject }) => subject === 'Set a new password')
}

/** The token of a user's newest email. */
async function newestToken(email: string): Promise<string> {
  const text = (await resetEmails(email)).at(-1)?.text ?? ''
  return LINK.exec(text)?.[1] ?? `no link in: ${text}`
}

/** A minute later, so that one more email is sent. */
async function askLater(email: string): Promise<string> {
  panel.clock.advance(60)
  await ask(email)
  return newestToken(email)
}

async function invite(email: string): Promise<{ id: number; activation: { token: string } }> {
  const body = { email, name: 'New', role: 'customer' }
  const path = '/admin/users'
  return (await panel.post<{ id: number; activation: { token: string } }>(path, await panel.admin(), body)).data
}

const rulesBroken = 'token: is unknown, expired or already used; ask for a new one'

describe('the email', () => {
  test('goes only to the stored address, in plain text, with a link that sets a password', async () => {
    const ada = await panel.customer()
    expect(await ask(ada.email)).toMatchObject(THE_ANSWER)
    const [mail, ...others] = await resetEmails(ada.email)
    expect(others).toEqual([])
    expect(mail?.recipients).toEqual([ada.email])
    expect(mail?.parsed).toMatchObject({ from: { address: 'ncp@example.com' }, to: [{ address: ada.email }] })
    expect(mail?.text).toMatch(LINK)
    const answer = await confirm(await newestToken(ada.email))
    expect([answer.status, answer.data, answer.message]).toEqual([200, null, 'Password set; log in with it'])
    expect((await login(ada.email, PASSWORD)).status).toBe(401)
    expect((await login(ada.email, NEW_PASSWORD)).status).toBe(200)
  })

  test('goes to the stored address, in whatever case it was requested', async () => {
    const ada = await panel.customer()
    await ask(ada.email.toUpperCase())
    expect((await resetEmails(ada.email)).map(({ recipients }) => recipients)).toEqual([[ada.email]])
  })

  test.each([
    ['Host', { host: 'evil.example' }],
    ['X-Forwarded-Host', { 'x-forwarded-host': 'evil.example' }],
    ['X-Forwarded-Proto and -Port', { 'x-forwarded-proto': 'http', 'x-forwarded-port': '666' }],
    ['Forwarded', { forwarded: 'for=192.0.2.1;host=evil.example;proto=http' }],
    ['Origin', { origin: 'https://evil.example' }],
    ['Referer', { referer: 'https://evil.example/' }],
    ['X-Original-URL', { 'x-original-url': 'https://evil.example/', 'x-rewrite-url': 'https://evil.example/' }],
  ])('has the configured link whatever %s says', async (_, headers) => {
    const ada = await panel.customer()
    await ask(ada.email, headers as Record<string, string>)
    const [mail] = await resetEmails(ada.email)
    expect(mail?.text).toMatch(LINK)
    expect(mail?.raw).not.toContain('evil')
  })

  test('has the configured link when the request line names another host', async () => {
    const ada = await panel.customer()
    const body = JSON.stringify({ email: ada.email })
    const head = [
      'POST http://evil.example/api/v1/auth/password-reset HTTP/1.1',
      'Host: evil.example',
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      'Connection: close',
    ]
    expect(await sendRaw(panel.origin, `${head.join('\r\n')}\r\n\r\n${body}`, /on its way/)).toContain('200 OK')
    const [mail] = await resetEmails(ada.email)
    expect(mail?.text).toMatch(LINK)
    expect(mail?.raw).not.toContain('evil')
  })

  test('is sent at growing intervals per account, and the response does not reveal it', async () => {
    const ada = await panel.customer()
    for (let i = 0; i < 5; i++) expect(await ask(ada.email)).toMatchObject(THE_ANSWER)
    expect(await resetEmails(ada.email)).toHaveLength(1)
    for (const [sent, minutes] of [1, 2, 4, 8].entries()) {
      panel.clock.advance(minutes * 60 - 1)
      expect(await ask(ada.email)).toMatchObject(THE_ANSWER)
      expect(await resetEmails(ada.email)).toHaveLength(sent + 1)
      panel.clock.advance(1)
      await ask(ada.email)
      expect(await resetEmails(ada.email)).toHaveLength(sent + 2)
    }
  })

  test('is sent some thirty times a day to a mailbox that a stranger floods', async () => {
    const ada = await panel.customer()
    let sent = 0
    for (let minute = 0; minute < 24 * 60; minute += 2) {
      panel.clock.advance(120)
      panel.services.passwordReset.request(stranger, ada.email)
      await panel.services.passwordReset.flush()
      await panel.services.outbox.deliver()
      sent = smtp.to(ada.email).length
    }
    expect(sent).toBeGreaterThanOrEqual(24)
    expect(sent).toBeLessThanOrEqual(32)
    // From where the owner has logged in, there is no waiting for strangers.
    await ask(ada.email)
    expect(await resetEmails(ada.email)).toHaveLength(sent + 1)
  })

  test('is sent to the owner even right after a stranger’s request', async () => {
    const ada = await panel.customer()
    const { passwordReset } = panel.services
    for (const sent of [1, 1]) {
      passwordReset.request(stranger, ada.email)
      expect(await resetEmails(ada.email)).toHaveLength(sent)
    }
    passwordReset.request(stranger, ada.email)
    expect(await ask(ada.email)).toMatchObject(THE_ANSWER)
    expect(await resetEmails(ada.email)).toHaveLength(2)
  })

  test('is sent even when the clock was ahead at the previous one', async () => {
    const ada = await panel.customer()
    panel.clock.advance(365 * 24 * 3600)
    await ask(ada.email)
    expect(await resetEmails(ada.email)).toHaveLength(1)
    panel.clock.advance(-365 * 24 * 3600)
    await ask(ada.email)
    expect(await resetEmails(ada.email)).toHaveLength(2)
  })

  test('is sent once for parallel requests', async () => {
    const ada = await panel.customer()
    await Promise.all(Array.from({ length: 10 }, () => ask(ada.email)))
    expect(await resetEmails(ada.email)).toHaveLength(1)
    expect((await confirm(await newestToken(ada.email))).status).toBe(200)
  })
})

describe('the response', () => {
  test('is the same for known, unknown, disabled and never activated users, after the same work', async () => {
    // A separate panel: no email of another test is written in between.
    const quiet = await startPanel(settings)
    await quiet.services.outbox.stop()
    const [ada, disabled] = [await quiet.customer(), await quiet.customer()]
    const admin = await quiet.admin()
    await quiet.patch(`/admin/users/${disabled.id}`, admin, { status: 'disabled' })
    await quiet.post('/admin/users', admin, { email: 'new@example.com', name: 'New', role: 'customer' })
    // Writes the uses of the administrator's session, which would be counted otherwise.
    await quiet.get('/auth/sessions', admin)
    const names = (headers: Headers) => [...headers.keys()].sort()
    const alike = names((await quiet.post('/auth/password-reset', undefined, { email: 'x@example.com' })).headers)
    for (const [kind, email] of [
      ['known', ada.email],
      ['within the minute', ada.email],
      ['unknown', 'nobody@example.com'],
      ['disabled', disabled.email],
      ['never activated', 'new@example.com'],
    ]) {
      await quiet.services.passwordReset.flush()
      const [before, hashes] = [commits(quiet.data), quiet.services.passwords.hashed]
      quiet.services.passwordReset.request(stranger, email ?? '')
      expect([kind, commits(quiet.data) - before]).toEqual([kind, 0])
      await quiet.services.passwordReset.flush()
      expect([kind, commits(quiet.data) - before]).toEqual([kind, 1])
      const { headers, ...answer } = await quiet.post('/auth/password-reset', undefined, { email })
      expect([kind, answer, names(headers)]).toEqual([kind, THE_ANSWER as typeof answer, alike])
      expect([kind, quiet.services.passwords.hashed - hashes]).toEqual([kind, 0])
    }
    await quiet.stop()
  })

  test('is followed by no email to a disabled user or an unknown address', async () => {
    const ada = await panel.customer()
    await panel.patch(`/admin/users/${ada.id}`, await panel.admin(), { status: 'disabled' })
    expect(await ask(ada.email)).toMatchObject(THE_ANSWER)
    expect(await ask('nobody@example.com')).toMatchObject(THE_ANSWER)
    expect(await resetEmails(ada.email)).toEqual([])
    expect(smtp.to('nobody@example.com')).toEqual([])
  })

  test.each([
    [['ada@example.com', 'evil@example.org'], 400],
    [{ $ne: 1 }, 400],
    [null, 400],
    [undefined, 400],
    [17, 400],
    ['', 422],
    ['ada@example.com,evil@example.org', 422],
    ['ada@example.com;evil@example.org', 422],
    ['ada@example.com evil@example.org', 422],
    ['ada@example.com\r\nBcc: evil@example.org', 422],
    ['ada@example.com\n', 422],
    ['ada@example.com\0', 422],
    ['Ada <evil@example.org>', 422],
    ['"evil@example.org x"@example.com', 422],
    ['\u{212a}ada@example.com', 422],
    ['ad\u0131@example.com', 422],
    [`${'a'.repeat(250)}@example.com`, 422],
  ])('to %j is %d, without an email', async (email, status) => {
    expect((await ask(email)).status).toBe(status)
    await sendEmails()
    expect(smtp.emails.filter(({ raw }) => raw.includes('evil'))).toEqual([])
  })

  test('to a body that names the email twice, or has unknown fields, comes without an email', async () => {
    const ada = await panel.customer()
    const twice = `{"email":"${ada.email}","email":"evil@example.org"}`
    expect((await panel.send('POST', '/auth/password-reset', { rawBody: twice })).status).toBe(400)
    const more = { email: ada.email, cc: 'evil@example.org' }
    expect((await panel.send('POST', '/auth/password-reset', { body: more })).status).toBe(422)
    expect(await resetEmails(ada.email)).toEqual([])
  })

  test('is 503 while a thousand emails wait', async () => {
    const own = await startPanel()
    const { passwordReset } = own.services
    for (let i = 0; i < 1000; i++) passwordReset.request(stranger, `ada${i}@example.com`)
    expect(() => passwordReset.request(stranger, 'ada@example.com')).toThrow(
      expect.objectContaining({ code: 'unavailable' }),
    )
    await passwordReset.flush()
    expect(await own.post('/auth/password-reset', undefined, { email: 'ada@example.com' })).toMatchObject(THE_ANSWER)
    await own.stop()
  }, 600_000)

  test('is 429 from an address’s sixth request in a minute on, including those with tokens', async () => {
    const limited = await startPanel({ limitPasswordReset: 5 })
    const from = '203.0.113.9'
    const statuses: number[] = []
    for (let i = 0; i < 6; i++) {
      const [path, body] = i % 2 ? ['/confirm', { token: 'x', password: NEW_PASSWORD }] : ['', { email: 'a@b.c' }]
      statuses.push((await limited.send('POST', `/auth/password-reset${path}`, { body, from })).status)
    }
    expect(statuses).toEqual([200, 422, 200, 422, 200, 429])
    await limited.stop()
  })
})

describe('a token', () => {
  test('works once', async () => {
    const ada = await panel.customer()
    await ask(ada.email)
    const token = await newestToken(ada.email)
    expect((await confirm(token)).status).toBe(200)
    const again = await confirm(token, 'yet another password')
    expect([again.status, again.message]).toEqual([422, rulesBroken])
    expect((await login(ada.email, NEW_PASSWORD)).status).toBe(200)
  })

  test('works once, even in ten parallel requests', async () => {
    const ada = await panel.customer()
    await ask(ada.email)
    const token = await newestToken(ada.email)
    const passwords = Array.from({ length: 10 }, (_, i) => `a password of the request ${i}`)
    const answers = await Promise.all(passwords.map((password) => confirm(token, password)))
    const winners = passwords.filter((_, i) => answers[i]?.status === 200)
    expect(winners).toHaveLength(1)
    expect((await login(ada.email, winners[0] ?? '')).status).toBe(200)
  })

  test('stays valid when another is requested, and the first one used voids all', async () => {
    const ada = await panel.customer()
    await ask(ada.email)
    const owners = await newestToken(ada.email)
    const others: string[] = []
    for (const minutes of [1, 2, 4]) {
      panel.clock.advance(minutes * 60)
      await panel.send('POST', '/auth/password-reset', { body: { email: ada.email }, from: '198.51.100.5' })
      others.push(await newestToken(ada.email))
    }
    expect(new Set([owners, ...others]).size).toBe(4)
    expect((await confirm(owners)).status).toBe(200)
    for (const token of others) expect((await confirm(token)).message).toBe(rulesBroken)
  })

  test('is void after ten minutes, and not before', async () => {
    const [ada, bob] = [await panel.customer(), await panel.customer()]
    await ask(ada.email)
    await ask(bob.email)
    const tokens = [await newestToken(ada.email), await newestToken(bob.email)] as const
    panel.clock.advance(599)
    expect((await confirm(tokens[0])).status).toBe(200)
    panel.clock.advance(1)
    expect((await confirm(tokens[1])).message).toBe(rulesBroken)
  })

  test('is void after a password change, and once the user is disabled', async () => {
    const [ada, bob] = [await panel.customer(), await panel.customer()]
    await ask(ada.email)
    await ask(bob.email)
    const tokens = [await newestToken(ada.email), await newestToken(bob.email)] as const
    const body = { current_password: PASSWORD, new_password: 'changed in the meantime' }
    expect((await panel.post('/auth/password', ada.token, body)).status).toBe(200)
    await panel.patch(`/admin/users/${bob.id}`, await panel.admin(), { status: 'disabled' })
    expect((await confirm(tokens[0])).message).toBe(rulesBroken)
    expect((await confirm(tokens[1])).message).toBe(rulesBroken)
  })

  test('is not spent by a password that breaks the rules', async () => {
    const ada = await panel.customer()
    await ask(ada.email)
    const token = await newestToken(ada.email)
    expect((await confirm(token, 'password1')).status).toBe(422)
    expect((await confirm(token)).status).toBe(200)
  })

  test('ends every session, creates none, and leaves API keys', async () => {
    const ada = await panel.customer()
    const key = await panel.key(ada.token)
    await ask(ada.email)
    const answer = await confirm(await newestToken(ada.email))
    expect(answer.data).toBeNull()
    expect((await panel.get('/auth/me', ada.token)).status).toBe(401)
    expect((await panel.get('/auth/me', key)).status).toBe(200)
  })

  test('is no credential', async () => {
    const ada = await panel.customer()
    await ask(ada.email)
    expect((await panel.get('/auth/me', await newestToken(ada.email))).status).toBe(401)
  })

  test('leaves two-factor authentication on', async () => {
    const ada = await panel.customer()
    const secret = await enrol(ada)
    await ask(ada.email)
    const answer = await confirm(await newestToken(ada.email))
    expect([answer.status, answer.data]).toEqual([200, null])
    panel.clock.advance(60)
    expect((await login(ada.email, NEW_PASSWORD)).error).toBe('2fa_required')
    const code = new TOTP({ secret }).generate({ timestamp: panel.clock.now() })
    expect((await login(ada.email, NEW_PASSWORD, code)).status).toBe(200)
  })
})

describe('a user who was never activated', () => {
  test('keeps the activation, however many resets are requested', async () => {
    const { activation } = await invite('one@example.com')
    await ask('one@example.com')
    await askLater('one@example.com')
    expect((await confirm(activation.token)).status).toBe(200)
    expect((await login('one@example.com', NEW_PASSWORD)).status).toBe(200)
  })

  test('may set the first password with a reset, which voids the activation', async () => {
    const { activation } = await invite('two@example.com')
    await ask('two@example.com')
    expect((await confirm(await newestToken('two@example.com'))).status).toBe(200)
    expect((await confirm(activation.token)).message).toBe(rulesBroken)
  })
})

describe('a mail server', () => {
  test('that hangs delays neither the response nor anything else', async () => {
    const hanging = await startSmtp()
    hanging.behave('hang')
    const own = await startPanel({ ...settings, mailServer: hanging.at() })
    const ada = await own.customer()
    const connected = hanging.connected()
    await own.post('/auth/password-reset', undefined, { email: ada.email })
    const delivering = sendEmails(own)
    await connected
    expect(await own.post('/auth/password-reset', undefined, { email: ada.email })).toMatchObject(THE_ANSWER)
    expect((await own.get('/auth/me', ada.token)).status).toBe(200)
    const { outbox } = own.services
    const { stop } = outbox
    outbox.stop = () => afterGrace(stop)
    await own.stop()
    await delivering
    await hanging.stop()
  })

  test('that refuses is tried again, until the token has expired', async () => {
    const ada = await panel.customer()
    smtp.behave('refuse')
    await ask(ada.email)
    expect(await resetEmails(ada.email)).toEqual([])
    panel.clock.advance(30)
    smtp.behave('accept')
    expect((await confirm(await newestToken(ada.email))).status).toBe(200)

    const bob = await panel.customer()
    smtp.behave('refuse')
    await ask(bob.email)
    expect(await resetEmails(bob.email)).toEqual([])
    panel.clock.advance(600)
    smtp.behave('accept')
    expect(await resetEmails(bob.email)).toEqual([])
  })

  test('that was down for two requests gets only the newest email', async () => {
    const ada = await panel.customer()
    smtp.behave('refuse')
    await ask(ada.email)
    await sendEmails()
    panel.clock.advance(60)
    await ask(ada.email)
    smtp.behave('accept')
    expect(await resetEmails(ada.email)).toHaveLength(1)
    expect((await confirm(await newestToken(ada.email))).status).toBe(200)
  })

  test('gets what was queued before a restart of the panel', async () => {
    const data = newDirectory('ncp-restart-')
    smtp.behave('refuse')
    const before = await startPanel({ ...settings, data })
    const ada = await before.customer()
    await before.post('/auth/password-reset', undefined, { email: ada.email })
    await before.stop()
    smtp.behave('accept')
    const sent = smtp.emails.length
    const after = await startPanel({ ...settings, data })
    after.clock.advance(60)
    await sendEmails(after)
    // Beside it there may be a notice of the panel that the other tests share.
    const [token] = smtp.emails.slice(sent).flatMap(({ text }) => LINK.exec(text ?? '')?.[1] ?? [])
    const body = { token, password: NEW_PASSWORD }
    expect((await after.post('/auth/password-reset/confirm', undefined, body)).status).toBe(200)
    await after.stop()
    rmSync(data, { recursive: true })
  })

  test('that is not configured does not change the response', async () => {
    const ownLog = createTestLog()
    const own = await startPanel({}, ownLog)
    const ada = await own.customer()
    for (let i = 0; i < 3; i++) {
      expect(await own.post('/auth/password-reset', undefined, { email: ada.email })).toMatchObject(THE_ANSWER)
    }
    await sendEmails(own)
    expect(ownLog.lines).toEqual([{ msg: expect.stringContaining('set NCP_SMTP_URL') }])
    using database = new Database(`${own.data}/ncp.db`, { readonly: true })
    expect(database.query('SELECT count(*) AS n FROM jobs').get()).toEqual({ n: 0 })
    await own.stop()
  })
})

test('no token and no password is left in the files or in the log', async () => {
  const ada = await panel.customer()
  smtp.behave('refuse')
  await ask(ada.email)
  await sendEmails()
  smtp.behave('accept')
  panel.clock.advance(30)
  const token = await newestToken(ada.email)
  const secret = await enrol(ada)
  const waiting = stored(panel.data)
  await confirm(token, 'a password to look for')
  await panel.services.outbox.deliver()
  const bytes = waiting + stored(panel.data)
  expect(bytes.includes(ada.email)).toBeTrue()
  expect(log.text()).toContain('email not sent; it will be tried again')
  for (const found of [token, 'a password to look for', secret, PUBLIC_URL]) {
    expect([found, bytes.includes(found), log.text().includes(found)]).toEqual([found, false, false])
  }
  expect(log.text()).not.toContain(ada.email)
})

/** Switches two-factor authentication on. @returns the seed */
async function enrol({ token }: Customer): Promise<string> {
  const { secret } = (await panel.post<{ secret: string }>('/auth/2fa/setup', token, { password: PASSWORD })).data
  const totp_code = new TOTP({ secret }).generate({ timestamp: panel.clock.now() })
  expect((await panel.post('/auth/2fa/enable', token, { totp_code })).status).toBe(200)
  return secret
}

/** All that the database has on disk, deleted rows that are still readable included. */
function stored(data: string): string {
  return ['ncp.db', 'ncp.db-wal'].map((name) => readFileSync(join(data, name), 'latin1')).join('')
}

/** The commits in the write-ahead log: each ends with a frame that states the size of the database. */
function commits(data: string): number {
  const wal = readFileSync(join(data, 'ncp.db-wal'))
  const frameLength = 24 + wal.readUInt32BE(8)
  let count = 0
  for (let frame = 32; frame + frameLength <= wal.length; frame += frameLength) {
    if (wal.readUInt32BE(frame + 4) > 0) count++
  }
  return count
}
