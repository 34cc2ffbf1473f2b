/** Handing over a mail: what it looks like, and that nothing travels in the clear. */
import { afterEach, describe, expect, test } from 'bun:test'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createMailer } from '../../src/mail/mailer.ts'
import type { MailServer } from '../../src/mail/server.ts'
import { newDirectory } from '../harness/directory.ts'
import { type Smtp, type SmtpOptions, selfSigned, startSmtp } from '../harness/smtp.ts'

/** Leads to this machine, and counts as another one: only names and addresses of the loopback interface don't. */
const ELSEWHERE = '0.0.0.0'
const certificate = await selfSigned({ type: 'ip', value: ELSEWHERE })
const mail = { to: 'ada@example.com', subject: 'A subject', text: 'First line.\n\nSecond — with a dash.' }

let smtp: Smtp
afterEach(() => smtp.stop())

const start = async (options?: SmtpOptions) => {
  smtp = await startSmtp(options)
}
function send(server: MailServer, sent = mail): Promise<void> {
  const mailer = createMailer({
    server,
    from: 'ncp@example.com',
    panelName: async () => 'ncp',
    publicUrl: 'https://panel.example.com',
  })
  return mailer.send(sent, new AbortController().signal)
}

describe('an email', () => {
  test('is plain text to one recipient, with a signature that says where it comes from', async () => {
    await start()
    await send(smtp.at())
    const [received] = smtp.emails
    expect(received?.recipients).toEqual(['ada@example.com'])
    expect(received?.text).toBe(`${mail.text}\n\n-- \nncp, https://panel.example.com\n`)
    expect(received?.parsed.html).toBeUndefined()
    expect(received?.parsed.attachments).toEqual([])
    const headers = Object.fromEntries(received?.parsed.headers.map(({ key, value }) => [key, value]) ?? [])
    expect(headers).toEqual({
      from: 'ncp <ncp@example.com>',
      to: 'ada@example.com',
      subject: 'ncp: A subject',
      'message-id': expect.stringMatching(/^<[\w-]+@example\.com>$/),
      date: expect.any(String),
      'auto-submitted': 'auto-generated',
      'mime-version': '1.0',
      'content-type': 'text/plain; charset=utf-8',
      'content-transfer-encoding': 'quoted-printable',
    })
  })

  test.each(['"evil@example.org x"@example.com', 'ada@example.com, evil@example.org', 'ada@example.com\r\nBcc: e@x.y'])(
    'to %j, which no stored address resembles, is not sent',
    async (to) => {
      await start()
      await expect(send(smtp.at(), { ...mail, to })).rejects.toThrow()
      expect(smtp.emails).toEqual([])
    },
  )

  test('is sent as the configured user', async () => {
    const credentials = { user: 'ncp', password: 'p:a@s/s' }
    await start({ credentials, tls: certificate })
    await send(smtp.at())
    expect(smtp.emails.map(({ user }) => user)).toEqual(['ncp'])
    await expect(send({ ...smtp.at(), credentials: { user: 'ncp', password: 'wrong' } })).rejects.toMatchObject({
      responseCode: 535,
    })
  })

  test('cut off by the signal is not sent', async () => {
    await start()
    smtp.behave('hang')
    const cut = new AbortController()
    const connected = smtp.connected()
    const mailer = createMailer({
      server: smtp.at(),
      from: 'ncp@example.com',
      panelName: async () => 'ncp',
      publicUrl: 'https://panel.example.com',
    })
    const sending = mailer.send(mail, cut.signal)
    await connected
    cut.abort()
    await expect(sending).rejects.toThrow()
  })
})

describe('to a server on this machine', () => {
  test('it is sent without TLS if there is none', async () => {
    await start()
    await send(smtp.at('localhost'))
    expect(smtp.emails.map(({ secure }) => secure)).toEqual([false])
  })

  test('it is sent over TLS if there is, whatever the certificate', async () => {
    await start({ tls: certificate })
    await send(smtp.at('127.0.0.1'))
    expect(smtp.emails.map(({ secure }) => secure)).toEqual([true])
  })
})

describe('to a server elsewhere', () => {
  test('nothing is sent without TLS', async () => {
    await start()
    await expect(send(smtp.at(ELSEWHERE))).rejects.toMatchObject({ code: 'ETLS' })
    expect(smtp.emails).toEqual([])
  })

  test.each([
    ['STARTTLS', false],
    ['TLS from the first byte', true],
  ])('nothing is sent past a self-signed certificate, with %s', async (_, implicitTls) => {
    await start({ tls: certificate, implicitTls })
    await expect(send(smtp.at(ELSEWHERE))).rejects.toMatchObject({ code: 'ESOCKET' })
    expect(smtp.emails).toEqual([])
  })

  test.each([
    ['STARTTLS', false, '0.0.0.0', true],
    ['TLS from the first byte', true, '0.0.0.0', true],
    ['STARTTLS and a certificate for another name', false, '::ffff:127.0.0.1', false],
  ])('it is sent when the operator trusts the authority, with %s', async (_, implicitTls, host, isSent) => {
    await start({ tls: certificate, implicitTls })
    const directory = newDirectory('ncp-ca-')
    const authority = join(directory, 'ca.pem')
    writeFileSync(authority, certificate.cert)
    // Read at the start of a process only, hence one of its own.
    const script = `
      import { createMailer } from '${import.meta.dir}/../../src/mail/mailer.ts'
      const mailer = createMailer({ server: ${JSON.stringify(smtp.at(host))}, from: 'ncp@example.com', panelName: async () => 'ncp', publicUrl: 'https://panel.example.com' })
      await mailer.send(${JSON.stringify(mail)}, new AbortController().signal)`
    const child = Bun.spawn([process.execPath, '-e', script], {
      env: { ...process.env, NODE_EXTRA_CA_CERTS: authority },
      stdout: 'ignore',
      stderr: 'pipe',
    })
    const complaint = await new Response(child.stderr).text()
    expect([(await child.exited) === 0, complaint === '']).toEqual([isSent, isSent])
    expect(smtp.emails.map(({ secure }) => secure)).toEqual(isSent ? [true] : [])
    rmSync(directory, { recursive: true })
  })
})
