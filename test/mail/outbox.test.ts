/** Mails on their way: sent once, tried again, given up, and never in anyone's way. */
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { asc, like, sql } from 'drizzle-orm'
import { watchClock } from '../../src/core/clock-watch.ts'
import { createSecretBox } from '../../src/crypto/secret-box.ts'
import { migrate } from '../../src/db/sqlite/migrate.ts'
import { migrations } from '../../src/db/sqlite/migrations.ts'
import { openStore } from '../../src/db/sqlite/store.ts'
import type { Store } from '../../src/db/store.ts'
import { jobs } from '../../src/db/tables.ts'
import { createMailer } from '../../src/mail/mailer.ts'
import { createOutbox, type Outbox, type OutgoingMail } from '../../src/mail/outbox.ts'
import { createTestClock, type TestClock } from '../harness/clock.ts'
import { newDirectory } from '../harness/directory.ts'
import { afterGrace } from '../harness/grace.ts'
import { createTestLog, type TestLog } from '../harness/log.ts'
import { type Smtp, startSmtp } from '../harness/smtp.ts'
import { mapsIndex } from '../harness/workarounds.ts'

const HOUR = 3600
const key = randomBytes(32)

let directory: string
let store: Store
let clock: TestClock
let smtp: Smtp
let log: TestLog
let outbox: Outbox
let deletableBefore: () => number
beforeEach(async () => {
  directory = newDirectory('ncp-outbox-')
  clock = createTestClock()
  store = openStore(join(directory, 'ncp.db'), clock.now(), { mapsIndex })
  smtp = await startSmtp()
  log = createTestLog()
  deletableBefore = clock.now
  outbox = open(store)
})
afterEach(async () => {
  await outbox.stop()
  await smtp.stop()
  await store.close()
  rmSync(directory, { recursive: true })
})

/** A second one stands for another process: what keeps them apart is in the database. */
function open(store: Store, isConfigured = true): Outbox {
  const mailer = createMailer({
    server: smtp.at(),
    from: 'ncp@example.com',
    panelName: async () => 'ncp',
    publicUrl: 'https://panel.example.com',
  })
  return createOutbox({
    store,
    clock,
    deletableBefore,
    log,
    secretBox: createSecretBox(key),
    mailer: isConfigured ? mailer : undefined,
  })
}

function put(mail: Partial<OutgoingMail> & { lifetimeSeconds?: number } = {}, into = outbox): Promise<void> {
  const { lifetimeSeconds = 24 * HOUR, ...rest } = mail
  const expiresAt = clock.now() + lifetimeSeconds * 1000
  return store.write((tx) =>
    into.put(tx, { to: 'ada@example.com', subject: 'Subject', text: 'Text', expiresAt, ...rest }),
  )
}

const waiting = () => store.read.$count(jobs)
const subjects = () => smtp.emails.map(({ subject }) => subject)

describe('an email', () => {
  test('is sent once, and then it is gone', async () => {
    await put()
    await outbox.deliver()
    await outbox.deliver()
    expect(subjects()).toEqual(['Subject'])
    expect(await waiting()).toBe(0)
    expect(log.lines).toEqual([])
  })

  test('of a change that is rolled back is not sent', async () => {
    const change = store.write(async (tx) => {
      await outbox.put(tx, { to: 'ada@example.com', subject: 'x', text: 'x', expiresAt: clock.now() + 1000 })
      throw new Error('the change fails')
    })
    await expect(change).rejects.toThrow('the change fails')
    await outbox.deliver()
    expect(smtp.emails).toEqual([])
  })

  test('is sent once by two processes that send at the same time', async () => {
    const other = open(store)
    for (let i = 0; i < 20; i++) await put({ subject: `${i}` })
    await Promise.all([outbox.deliver(), other.deliver(), outbox.deliver(), other.deliver()])
    expect(subjects().sort()).toEqual(Array.from({ length: 20 }, (_, i) => `${i}`).sort())
    await other.stop()
  })

  test('is sent by the next process when one died over it, and not before', async () => {
    await put()
    smtp.behave('hang')
    const connected = smtp.connected()
    const dying = outbox.deliver()
    await connected
    smtp.behave('accept')
    const next = open(store)
    await next.deliver()
    expect(smtp.emails).toEqual([])
    clock.advance(121)
    await next.deliver()
    expect(subjects()).toEqual(['Subject'])
    await Promise.all([afterGrace(outbox.stop), dying])
  })

  test('replaces an older one of its topic, even while that is being sent', async () => {
    smtp.behave('hang')
    const connected = smtp.connected()
    await put({ topic: 'reset:1', subject: 'older' })
    const delivering = outbox.deliver()
    await connected
    await put({ topic: 'reset:2', subject: 'of another topic' })
    await put({ topic: 'reset:1', subject: 'newer' })
    await Promise.all([afterGrace(outbox.stop), delivering])
    smtp.behave('accept')
    outbox = open(store)
    await outbox.deliver()
    expect(subjects().sort()).toEqual(['newer', 'of another topic'])
  })

  test('is sent even if the clock was a day ahead when it was queued', async () => {
    clock.advance(24 * HOUR)
    await put({ lifetimeSeconds: 72 * HOUR })
    clock.advance(-24 * HOUR)
    await outbox.deliver()
    expect(subjects()).toEqual(['Subject'])
  })

  test('that is urgent is sent before those that are not', async () => {
    for (let i = 0; i < 5; i++) await put({ subject: 'notice' })
    await put({ subject: 'reset', lifetimeSeconds: 600 })
    smtp.behave('refuse')
    await outbox.deliver()
    smtp.behave('accept')
    clock.advance(30)
    await outbox.deliver()
    expect(subjects().slice(0, 5)).toContain('reset')
  })

  test('is stored sealed, and readable nowhere in the files', async () => {
    await put({ text: 'https://panel.example.com/reset-password#token=Q29mZmVl' })
    const bytes = ['ncp.db', 'ncp.db-wal'].map((name) => readFileSync(join(directory, name), 'latin1')).join('')
    expect(bytes.includes('ada@example.com')).toBeTrue()
    expect(bytes.includes('Q29mZmVl')).toBeFalse()
  })

  test('does not open for another recipient', async () => {
    await put()
    await store.write((tx) => tx.update(jobs).set({ payload: sql`replace(payload, 'ada@', 'evil@')` }))
    expect(await store.read.$count(jobs, like(jobs.payload, '%evil@example.com%'))).toBe(1)
    await outbox.deliver()
    expect(smtp.emails).toEqual([])
    expect(log.text()).toContain('email not sent; it will be tried again')
  })
})

describe('a server that refuses', () => {
  test('is tried again after 30 seconds, 60, 120 and so on, at most every four hours', async () => {
    smtp.behave('refuse')
    await put({ lifetimeSeconds: 30 * 24 * HOUR })
    await outbox.deliver()
    const delays = [30, 60, 120, 240, 480, 960, 1920, 3840, 7680, 4 * HOUR, 4 * HOUR]
    for (const [index, delay] of delays.entries()) {
      const before = smtp.connections
      expect(before).toBe(index + 1)
      clock.advance(delay - 1)
      await outbox.deliver()
      expect(smtp.connections).toBe(before)
      clock.advance(1)
      await outbox.deliver()
    }
    expect(log.lines.map(({ retryInSeconds }) => retryInSeconds)).toEqual([...delays, 4 * HOUR])
    smtp.behave('accept')
    clock.advance(4 * HOUR)
    await outbox.deliver()
    expect(subjects()).toEqual(['Subject'])
  })

  test('is tried every minute for a link that lives ten, so that greylisting leaves time to use it', async () => {
    smtp.behave('refuse')
    await put({ lifetimeSeconds: 600 })
    await outbox.deliver()
    const times: number[] = []
    for (let second = 1; second < 600; second++) {
      const before = smtp.connections
      clock.advance(1)
      if (second % 30 === 0) await outbox.deliver()
      if (smtp.connections > before) times.push(second)
    }
    expect(times).toEqual([30, 90, 150, 210, 270, 330, 390, 450, 510, 570])
  })

  test.each(['refuse the text', 'refuse the recipient'] as const)(
    'permanently (%s) is not tried again',
    async (how) => {
      smtp.behave(how)
      await put()
      await outbox.deliver()
      expect(await waiting()).toBe(0)
      expect(log.lines).toMatchObject([{ mail: 1, status: 550, msg: expect.stringContaining('permanently refused') }])
    },
  )

  test('the sender permanently is tried again, since the operator can fix that', async () => {
    smtp.behave('refuse the sender')
    await put()
    await outbox.deliver()
    expect(log.lines).toMatchObject([{ retryInSeconds: 30, status: 550 }])
    smtp.behave('accept')
    clock.advance(30)
    await outbox.deliver()
    expect(subjects()).toEqual(['Subject'])
  })

  test('is no longer tried once the email has expired, which is then deleted', async () => {
    smtp.behave('refuse')
    await put({ lifetimeSeconds: 600 })
    await outbox.deliver()
    clock.advance(600)
    smtp.behave('accept')
    await outbox.deliver()
    expect(smtp.emails).toEqual([])
    expect(await waiting()).toBe(0)
    expect(log.text()).toContain('email dropped')
  })

  test('is logged with its status, but without the text it quotes', async () => {
    smtp.behave('refuse')
    await put({ text: 'https://panel.example.com/reset-password#token=secret' })
    await outbox.deliver()
    expect(log.lines).toEqual([
      {
        mail: 1,
        attempt: 1,
        retryInSeconds: 30,
        code: 'EMESSAGE',
        command: 'DATA',
        status: 451,
        msg: 'email not sent; it will be tried again',
      },
    ])
  })

  test('that is unreachable is treated the same, and logged with the reason', async () => {
    await smtp.stop()
    await put()
    await outbox.deliver()
    expect(log.lines).toEqual([
      expect.objectContaining({ attempt: 1, retryInSeconds: 30, reason: expect.stringContaining('ECONNREFUSED') }),
    ])
    expect(await waiting()).toBe(1)
  })
})

describe('a server that hangs', () => {
  test('delays no transaction and no shutdown', async () => {
    smtp.behave('hang')
    await put()
    const connected = smtp.connected()
    const delivering = outbox.deliver()
    await connected
    await put({ subject: 'another' })
    expect(await waiting()).toBe(2)
    await Promise.all([afterGrace(outbox.stop), delivering])
    smtp.behave('accept')
    outbox = open(store)
    await outbox.deliver()
    expect(subjects().sort()).toEqual(['Subject', 'another'])
  })
})

describe('without a mail server', () => {
  test('the panel keeps nothing, and warns the operator at its start and once an hour', async () => {
    outbox = open(store, false)
    outbox.start()
    expect(log.lines).toEqual([{ msg: expect.stringContaining('set NCP_SMTP_URL, NCP_MAIL_FROM and NCP_PUBLIC_URL') }])
    for (let i = 0; i < 10; i++) await put()
    clock.advance(HOUR)
    for (let i = 0; i < 10; i++) await put()
    expect(log.lines).toHaveLength(2)
    expect(await waiting()).toBe(0)
  })

  test('a command keeps its email for the panel, whose environment it need not have', async () => {
    await put({}, open(store, false))
    await outbox.deliver()
    expect(subjects()).toEqual(['Subject'])
  })

  test('an email kept by a command is deleted when it expires', async () => {
    outbox = open(store, false)
    await put({ lifetimeSeconds: 60 })
    outbox.start()
    await outbox.deliver()
    expect(await waiting()).toBe(1)
    clock.advance(60)
    await outbox.deliver()
    expect(await waiting()).toBe(0)
  })
})

test('a clock that is ahead for a moment loses no email', async () => {
  const watch = watchClock(clock)
  deletableBefore = watch.deletableBefore
  outbox = open(store)
  clock.advance(HOUR)
  await put({ lifetimeSeconds: 600 })
  clock.jump(365 * 24 * HOUR)
  await outbox.deliver()
  expect([smtp.emails.length, await waiting()]).toEqual([0, 1])
  clock.jump(-365 * 24 * HOUR)
  await outbox.deliver()
  expect(subjects()).toEqual(['Subject'])
})

test('emails left in the database by the previous version are sent, each with its own retry limits', async () => {
  const path = join(directory, 'older.db')
  {
    using older = new Database(path)
    const before = migrations.slice(
      0,
      migrations.findIndex(({ name }) => name.endsWith('_jobs')),
    )
    migrate(older, { path, nowMs: clock.now(), migrations: before })
    const insert = older.query(
      `INSERT INTO outbox (recipient, subject, body, topic, attempts, created_at, next_attempt_at, expires_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    const box = createSecretBox(key)
    const putOlder = (to: string, text: string, topic: string | null, attempts: number, waitsMs: number) =>
      insert.run(
        ...[to, `"${text}" \\ ü`, box.seal(text, `mail:${to}`), topic, attempts],
        ...[clock.now() - 1000, clock.now() + waitsMs, clock.now() + 24 * HOUR * 1000],
      )
    putOlder('ada@example.com', 'to be taken back', 'reset:1', 0, 0)
    putOlder('bob@example.com', 'tried before', null, 3, 60_000)
    putOlder('eve@example.com', 'sent long ago', null, 1, 0)
    older.run("DELETE FROM outbox WHERE recipient = 'eve@example.com'")
  }
  const upgraded = openStore(path, clock.now())
  const own = open(upgraded)
  expect(await own.waitingSince()).toBe(clock.now() - 1000)
  await upgraded.write((tx) => own.withdraw(tx, 'reset:1'))
  const expiresAt = clock.now() + HOUR * 1000
  await upgraded.write((tx) => own.put(tx, { to: 'cy@example.com', subject: 'new', text: 'new', expiresAt }))
  // Counted on from the one that is gone: the log names an email by its number.
  expect(await upgraded.read.select({ id: jobs.id }).from(jobs).orderBy(asc(jobs.id))).toEqual([{ id: 2 }, { id: 4 }])
  await own.deliver()
  expect(subjects()).toEqual(['new'])
  clock.advance(60)
  await own.deliver()
  expect(smtp.emails[1]).toMatchObject({ recipients: ['bob@example.com'], subject: '"tried before" \\ ü' })
  expect(smtp.emails[1]?.text).toContain('tried before')
  await own.stop()
  await upgraded.close()
})

test('finding no emails to send makes no commit, which would empty the cache of credentials', async () => {
  const before = store.version()
  await outbox.deliver()
  expect(store.version()).toBe(before)
})
