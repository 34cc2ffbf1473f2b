/** Text with a meaning in SQL, emails, logs or shells stays text, and is returned as it was sent. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { storedRows } from '../harness/database.ts'
import { createTestLog } from '../harness/log.ts'
import { type Customer, PASSWORD, type Panel, startPanel } from '../harness/panel.ts'
import { type Smtp, startSmtp } from '../harness/smtp.ts'

const log = createTestLog()
let smtp: Smtp
let panel: Panel
let ada: Customer
let admin: string
beforeAll(async () => {
  smtp = await startSmtp()
  const publicUrl = 'https://panel.example.com'
  panel = await startPanel({ mailServer: smtp.at(), mailFrom: 'ncp@example.com', publicUrl }, log)
  ada = await panel.customer()
  await panel.subscription(ada.id)
  admin = (await panel.customer('admin')).token
})
afterAll(async () => {
  await panel.stop()
  await smtp.stop()
})

/** Emails of earlier tests may still be in transit. */
const stored = () => storedRows(panel, { except: ['jobs'] })

const TEXTS = [
  "' OR 1=1--",
  "'); DROP TABLE users;--",
  '" OR ""="',
  '%',
  '_',
  '\\',
  '*',
  '(a+)+$',
  '[',
  '{{7*7}}',
  '$\u007b7*7}',
  '<%= 7*7 %>',
  '<script>alert(1)</script>',
  '"},"role":"admin","x":"</script>',
  '=HYPERLINK("https://evil.example")',
  '../../../etc/passwd',
  ';id',
  '$(id)',
  '`id`',
  '-rf',
  'e\u0301\u{1f511}\u200f',
]

describe('a text', () => {
  test('of any kind is stored and returned as it was sent, in every label', async () => {
    for (const text of TEXTS) {
      const made = await panel.post<{ id: number; name: string }>('/auth/api-keys', ada.token, { name: text })
      expect([made.status, made.data.name]).toEqual([201, text])
      const user = { email: `text${made.data.id}@example.com`, name: text, role: 'customer' }
      expect((await panel.post<{ name: string }>('/admin/users', admin, user)).data.name).toBe(text)
      const subscription = { user_id: ada.id, name: text }
      expect((await panel.post<{ name: string }>('/admin/subscriptions', admin, subscription)).data.name).toBe(text)
    }
    const names = (await panel.get<{ name: string }[]>('/auth/api-keys?limit=1000', ada.token)).data
    expect(names.map(({ name }) => name)).toEqual(TEXTS)
  })

  test('in a search matches itself: no wildcard, no pattern, no SQL', async () => {
    const everybody = (await panel.get<unknown[]>('/admin/users?limit=1000', admin)).data
    for (const text of TEXTS) {
      for (const path of ['/admin/users?email=', '/sites?domain=', '/admin/users?q=']) {
        const answer = await panel.get<unknown[] | null>(path + encodeURIComponent(text), admin)
        expect([path, text, [200, 422].includes(answer.status)]).toEqual([path, text, true])
        expect([text, answer.data ?? []]).toEqual([text, []])
      }
    }
    expect((await panel.get('/admin/users?limit=1000', admin)).data).toEqual(everybody)
  })

  test('in place of an id is 400, and no row is touched', async () => {
    const before = stored()
    for (const text of [...TEXTS, '1 OR 1=1', '1;--', '1%00', '%2531', '1/../2', '１', '0x1', '1e0']) {
      const path = `/sites/${encodeURIComponent(text)}`
      for (const method of ['GET', 'DELETE']) {
        const { status } = await panel.send(method, path, { as: ada.token })
        expect([text, status >= 400 && status < 500]).toEqual([text, true])
      }
    }
    expect(stored()).toEqual(before)
  })

  test('in place of an email or a domain is refused, before any lookup', async () => {
    const before = stored()
    for (const text of TEXTS) {
      const login = await panel.post('/auth/login', undefined, { email: `${text}@example.com`, password: PASSWORD })
      expect([text, [401, 422].includes(login.status)]).toEqual([text, true])
      expect((await panel.post('/sites', ada.token, { domain: text })).status).toBe(422)
    }
    expect(stored()).toEqual(before)
  })
})

/** @see smtp-relay#238, ASVS V1.3.7, V1.3.11 */
describe('an email', () => {
  test('shows a name or a label as it is, in its body, and keeps its usual headers', async () => {
    const { email, token } = await panel.customer()
    for (const name of ['{{7*7}}', '<%= 7*7 %>', 'a: b', '=?utf-8?q?x?=', 'Bcc: evil@example.org']) {
      expect((await panel.post('/auth/api-keys', token, { name })).status).toBe(201)
      await panel.services.outbox.deliver()
      const mail = smtp.to(email).at(-1)
      expect(mail?.text).toContain(name)
      expect(mail?.parsed.headers.map(({ key }) => key)).not.toContain('bcc')
      expect([mail?.recipients, mail?.parsed.to?.map(({ address }) => address)]).toEqual([[email], [email]])
    }
  })

  test('gets no header from a name, since no line break is accepted in one', async () => {
    for (const name of [
      'x\r\nBcc: evil@example.org',
      'x\nBcc: evil@example.org',
      'x\rBcc: y',
      'x\0',
      'x\u0085y',
      '\x1b[31m',
    ]) {
      expect((await panel.post('/auth/api-keys', ada.token, { name })).status).toBe(422)
      const user = { email: 'broken@example.com', name, role: 'customer' }
      expect((await panel.post('/admin/users', admin, user)).status).toBe(422)
    }
    await panel.services.outbox.deliver()
    expect(smtp.emails.filter(({ recipients }) => recipients.join().includes('evil'))).toEqual([])
  })
})

/** @see ASVS V16.4.1: a line break in what is logged would make a line of its own */
test('the log contains no text of a stranger, and so no line of theirs', async () => {
  const line = 'x%0a{"level":"info","msg":"admin logged in"}'
  await panel.get(`/${line}`)
  await panel.get(`/sites?${line}`, ada.token)
  await panel.send('GET', '/sites', { headers: { 'user-agent': 'x admin logged in' } })
  await panel.post('/auth/login', undefined, { email: 'a\nadmin logged in', password: 'x' })
  for (const entry of log.lines) expect(JSON.stringify(entry)).not.toMatch(/\n|"msg":"admin logged in"/)
})
