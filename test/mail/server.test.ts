/** The URL of the mail server, and what else the configuration says about emails. */
import { describe, expect, test } from 'bun:test'
import { loadConfig } from '../../src/config/load.ts'
import { parseMailServer } from '../../src/mail/server.ts'

const URL_RULE = 'must be smtp:// or smtps:// with a host, and optionally user:password@ (percent-encoded) and a port'
const PUBLIC_URL_RULE = 'must be an https:// URL without user, query or fragment (http:// for this machine only)'

const complete = {
  NCP_SMTP_URL: 'smtp://mail.example.com',
  NCP_MAIL_FROM: 'ncp@example.com',
  NCP_PUBLIC_URL: 'https://panel.example.com:3443',
}

function problemsOf(environment: Record<string, string>): string {
  try {
    loadConfig({}, environment)
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

describe('the URL of a mail server', () => {
  test.each([
    ['smtp://mail.example.com', { host: 'mail.example.com', port: 587, implicitTls: false }],
    ['smtps://mail.example.com', { host: 'mail.example.com', port: 465, implicitTls: true }],
    ['smtp://Mail.Example.com:2525/', { host: 'mail.example.com', port: 2525, implicitTls: false }],
    ['SMTP://localhost:25', { host: 'localhost', port: 25, implicitTls: false }],
    ['smtp://[::1]:25', { host: '::1', port: 25, implicitTls: false }],
  ])('%s is accepted', (url, expected) => {
    expect(parseMailServer(url)).toEqual({ ...expected, credentials: undefined })
  })

  test('contains a user and a password, percent-encoded', () => {
    expect(parseMailServer('smtps://ada%40example.com:p%2Fa%3As%23s%25@mail.example.com').credentials).toEqual({
      user: 'ada@example.com',
      password: 'p/a:s#s%',
    })
  })

  test.each([
    '',
    'mail.example.com',
    'http://mail.example.com',
    'javascript:alert(1)',
    'smtp://',
    'smtp:mail.example.com',
    'smtp://ada@mail.example.com',
    'smtp://:secret@mail.example.com',
    'smtp://ada:se%zzcret@mail.example.com',
    'smtp://ada:sec#ret@mail.example.com',
    'smtp://ada:sec/ret@mail.example.com',
    'smtp://mail.example.com:0',
    'smtp://mail.example.com:99999',
    'smtp://mail.example.com/path',
    'smtp://mail.example.com?secure=false',
    'smtp://mail.example.com\nX: y',
    'smtp://mail,evil.example.com',
  ])('%j is refused with the rule, and not repeated', (url) => {
    expect(() => parseMailServer(url)).toThrow(new Error(URL_RULE))
    expect(problemsOf({ ...complete, NCP_SMTP_URL: url })).toBe(`NCP_SMTP_URL: ${URL_RULE}`)
  })
})

describe('the public URL', () => {
  test.each([
    ['https://panel.example.com', 'https://panel.example.com'],
    ['https://panel.example.com:3443/', 'https://panel.example.com:3443'],
    ['HTTPS://Panel.Example.com/ncp//', 'https://panel.example.com/ncp'],
    ['http://localhost:8080', 'http://localhost:8080'],
    ['http://127.0.0.1/', 'http://127.0.0.1'],
    ['http://[::1]:3443', 'http://[::1]:3443'],
  ])('%s is the base %s', (given, base) => {
    expect(loadConfig({}, { NCP_PUBLIC_URL: given }).publicUrl).toBe(base)
  })

  test.each([
    '',
    'panel.example.com',
    '//panel.example.com',
    'javascript:alert(1)',
    'javascript://panel.example.com/%0aalert(1)',
    'data:text/html,hello',
    'ftp://panel.example.com',
    'http://panel.example.com',
    'http://localhost.example.com',
    'http://127.0.0.1.example.com',
    'https://ada@panel.example.com',
    'https://ada:secret@panel.example.com',
    'https://panel.example.com/?next=',
    'https://panel.example.com?',
    'https://panel.example.com/#',
    'https://',
  ])('%j is refused with the rule', (given) => {
    expect(problemsOf({ ...complete, NCP_PUBLIC_URL: given })).toBe(`NCP_PUBLIC_URL: ${PUBLIC_URL_RULE}`)
  })
})

describe('a mail server', () => {
  test('with a sender and a public URL is a complete configuration', () => {
    expect(problemsOf(complete)).toBe('')
    expect(loadConfig({}, complete).mailServer?.host).toBe('mail.example.com')
  })

  test('requires both of them', () => {
    const { NCP_SMTP_URL } = complete
    expect(problemsOf({ NCP_SMTP_URL }).split('\n')).toEqual([
      'NCP_SMTP_URL: to send emails, set NCP_MAIL_FROM (mail_from) too',
      'NCP_SMTP_URL: to send emails, set NCP_PUBLIC_URL (public_url) too',
    ])
  })

  test.each(['', 'ncp', 'ncp@example.com,evil@example.com', 'Panel <ncp@example.com', 'ncp@example.com\r\nBcc: a@b.c'])(
    'refuses the sender %j',
    (from) => {
      expect(problemsOf({ ...complete, NCP_MAIL_FROM: from })).toBe(
        'NCP_MAIL_FROM: must be an email address, or a name and an address: Example Hosting <panel@example.com>',
      )
    },
  )
})
