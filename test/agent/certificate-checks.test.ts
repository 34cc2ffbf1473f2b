/** What an agent refuses of the certificates that a panel wants, were the panel taken. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { wrongTlsField } from '../../src/agent/tls/checks.ts'
import type { DesiredTls } from '../../src/node/protocol.ts'
import { createTestAuthority, type Pem } from '../harness/certificates.ts'

const site = { names: ['www.example.com', 'example.com'] }
let made: Pem
let other: Pem
beforeAll(async () => {
  const authority = await createTestAuthority(Date.now())
  made = await authority.issue({ names: site.names })
  other = await authority.issue({ names: site.names })
})

const tlsOf = (tls: object): DesiredTls => ({ challenges: [], requests: [], certificates: [], ...tls }) as DesiredTls
const certificate = (changes: object = {}) => ({
  id: 3,
  names: ['www.example.com'],
  chain: made.certificate,
  key: null,
  ...changes,
})

test('what a panel of ours sends is taken', () => {
  const all = tlsOf({
    challenges: [{ token: 'a-Z_9', answer: 'a-Z_9.thumbprint' }],
    requests: [{ id: 7, names: site.names }],
    certificates: [certificate(), certificate({ id: 4, names: [], key: made.private_key })],
  })
  expect(wrongTlsField(all, site)).toBeUndefined()
  expect(wrongTlsField(tlsOf({}), site)).toBeUndefined()
})

describe('refused is', () => {
  test.each([
    '',
    '.',
    '..',
    '../www/a',
    '/etc/cron.d/x',
    'a/b',
    'a\0',
    'a\n',
    'a b',
    '.htaccess',
    'ä',
    'x'.repeat(257),
    7,
    null,
  ])('a challenge named %j', (token) => {
    expect(wrongTlsField(tlsOf({ challenges: [{ token, answer: 'a.b' }] }), site)).toBe('challenges')
  })

  test.each(['', 'a b', '<script>', 'a\n', 'x'.repeat(513), null])('a challenge with the answer %j', (answer) => {
    expect(wrongTlsField(tlsOf({ challenges: [{ token: 'a', answer }] }), site)).toBe('challenges')
  })

  test.each([0, -1, 1.5, '3', '../3', null, 2 ** 53, 3_000_000_000])('the id %j', (id) => {
    expect(wrongTlsField(tlsOf({ requests: [{ id, names: site.names }] }), site)).toBe('requests')
    expect(wrongTlsField(tlsOf({ certificates: [certificate({ id })] }), site)).toBe('certificates')
  })

  test.each(['other.example.com', '*.example.com', '../gen', '', null, 'WWW.example.com'])(
    'the name %j for a certificate',
    (name) => {
      expect(wrongTlsField(tlsOf({ certificates: [certificate({ names: [name] })] }), site)).toBe('certificates')
    },
  )

  test.each(['../x', 'a/b', '', '-a', 'A', 'a\n', 'x'.repeat(254), null])('a request for the name %j', (name) => {
    expect(wrongTlsField(tlsOf({ requests: [{ id: 1, names: [name] }] }), site)).toBe('requests')
  })

  test('what is no chain, and no key of it', () => {
    const wrong: object[] = [
      { chain: '' },
      { chain: 'hello' },
      { chain: made.private_key },
      { chain: made.certificate + made.private_key },
      { chain: made.certificate.replace(/\n.{20}/, '\nAAAAAAAAAAAAAAAAAAAA') },
      { chain: null },
      { chain: `${made.certificate}\nuser root;\n` },
      { chain: made.certificate.repeat(200) },
      { key: '' },
      { key: made.certificate },
      { key: other.private_key },
      { key: `${made.private_key}ssl_engine x;` },
      { key: 7 },
    ]
    for (const changes of wrong) {
      expect(wrongTlsField(tlsOf({ certificates: [certificate(changes)] }), site)).toBe('certificates')
    }
  })

  test('what is no list, or too long a one', () => {
    for (const wrong of [null, {}, 'x', 7, Array.from({ length: 1001 }, (_, id) => ({ id: id + 1, names: [] }))]) {
      expect(wrongTlsField(tlsOf({ requests: wrong }), site)).toBe('requests')
    }
    for (const wrong of [null, undefined, 'x'])
      expect(wrongTlsField(tlsOf({ certificates: wrong }), site)).toBe('certificates')
    expect(wrongTlsField(tlsOf({ challenges: [null] }), site)).toBe('challenges')
  })
})
