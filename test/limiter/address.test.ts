/** Which requests come from one client. */
import { describe, expect, test } from 'bun:test'
import { parseRanges, shortenAddress } from '../../src/limiter/address.ts'
import { createClientAddress } from '../../src/limiter/client-address.ts'
import { noLog } from '../harness/log.ts'

type Warning = { proxy: string; entry: string }

const direct = createClientAddress([], noLog)
const PROXIES = parseRanges(['10.0.0.0/8', '2001:db8:ffff::/48', '127.0.0.1'])
const proxied = createClientAddress(PROXIES, noLog)

describe('an address', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:201', '192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:1:2::9', '2001:db8:1:2::9', '2001:db8:1:2::/64'],
    ['::1', '::1', '::/64'],
    ['fe80::1%eth0', 'fe80::1', 'fe80::/64'],
    // An IPv4 client behind a translator (RFC 6052): they would all share one /64.
    ['64:ff9b::203.0.113.7', '203.0.113.7', '203.0.113.7'],
    ['64:ff9b::8.8.4.4', '8.8.4.4', '8.8.4.4'],
    // RFC 6052 §3.1: no private address has this form, so no client becomes a trusted proxy by it.
    ['64:ff9b::10.0.0.1', '64:ff9b::a00:1', '64:ff9b::/64'],
    ['64:ff9b::7f00:1', '64:ff9b::7f00:1', '64:ff9b::/64'],
    // A network-specific prefix: only that network knows where the IPv4 address is in it.
    ['64:ff9b:1::8.8.4.4', '64:ff9b:1::808:404', '64:ff9b:1::/64'],
  ])('%s is %s and counts as %s', (peer, address, group) => {
    expect(direct(peer, null)).toEqual({ address, group })
  })

  test('that is gone or unreadable counts as unknown', () => {
    expect(direct(undefined, '192.0.2.1').group).toBe('unknown')
    expect(direct('', null).group).toBe('unknown')
  })
})

describe('X-Forwarded-For', () => {
  test.each([
    ['is ignored from a peer that is not a proxy', '192.0.2.1', '203.0.113.9', '192.0.2.1'],
    ['is read from the right', '10.0.0.1', '198.51.100.1, 203.0.113.9', '203.0.113.9'],
    ['is followed through proxies', '10.0.0.1', '203.0.113.9, 10.1.1.1, 10.2.2.2', '203.0.113.9'],
    ['is not followed past a client', '10.0.0.1', '10.9.9.9, 203.0.113.9', '203.0.113.9'],
    ['is matched in its mapped form too', '::ffff:10.0.0.1', '203.0.113.9', '203.0.113.9'],
    ['may hold IPv6', '2001:db8:ffff::1', '2001:db8:1::7', '2001:db8:1::7'],
    ['of proxies only gives the first of them', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['that is empty leaves the proxy', '10.0.0.1', '', '10.0.0.1'],
    ['may give the port of an IPv4 client', '10.0.0.1', '203.0.113.7:99', '203.0.113.7'],
    ['may give the port of an IPv6 client', '10.0.0.1', '[2001:db8::7]:443', '2001:db8::7'],
    ['may put IPv6 in brackets without a port', '10.0.0.1', '[2001:db8::7]', '2001:db8::7'],
    ['may give ports on the way through proxies', '10.0.0.1', '203.0.113.9:5, 10.1.1.1:6', '203.0.113.9'],
    ['may end in a comma', '10.0.0.1', '203.0.113.9,', '203.0.113.9'],
    ['may have empty entries', '10.0.0.1', ', 203.0.113.9 , ,', '203.0.113.9'],
    ['may have blanks and tabs around an entry', '10.0.0.1', ' 198.51.100.1 ,\t203.0.113.9\t', '203.0.113.9'],
    ['may name a zone', '10.0.0.1', 'fe80::7%eth0', 'fe80::7'],
    ['may name a zone in brackets', '10.0.0.1', '[fe80::7%25eth0]:443', 'fe80::7'],
    ['may hold a mapped address', '10.0.0.1', '::ffff:203.0.113.9', '203.0.113.9'],
    ['may hold a mapped address with a port', '10.0.0.1', '[::ffff:203.0.113.9]:80', '203.0.113.9'],
    ['may hold a translated address', '10.0.0.1', '64:ff9b::808:404', '8.8.4.4'],
    ['may hold what cannot be read left of the client', '10.0.0.1', 'x, unknown, 203.0.113.9', '203.0.113.9'],
  ])('%s', (_, peer, forwarded, expected) => {
    expect(proxied(peer, forwarded).address).toBe(expected)
  })
})

/** What is left of such an entry was written by a client that the proxy could not name: it may have made up anything. */
describe('an unreadable entry of a trusted proxy', () => {
  test.each([
    ['that is a name', 'localhost'],
    ['that is unknown', 'unknown'],
    ['that is obfuscated', '_hidden'],
    ['that is a socket', 'unix:'],
    ['with an invalid port', '203.0.113.9:http'],
    ['with a port beyond the last one', '203.0.113.9:65536'],
    ['with a bracket that stays open', '[2001:db8::7'],
    ['with IPv4 in brackets', '[203.0.113.9]:80'],
    ['in octal', '0313.0.0161.9'],
    ['of three parts', '203.0.113'],
    ['that is far too long', `${'1'.repeat(5000)}`],
  ])('%s leaves the client unknown, even when an address stands to its left', (_, entry) => {
    const unknown = { address: 'unknown', group: 'unknown' }
    expect(proxied('10.0.0.1', entry)).toEqual(unknown)
    expect(proxied('10.0.0.1', `203.0.113.9, ${entry}`)).toEqual(unknown)
    expect(proxied('10.0.0.1', `10.0.0.7, ${entry}, 10.2.2.2`)).toEqual(unknown)
  })

  test('is reported once per proxy, with its text, and for a limited number of proxies', () => {
    const told: Warning[] = []
    const clientAddress = createClientAddress(PROXIES, { warn: (fields) => told.push(fields as Warning) })
    for (let count = 0; count < 3; count++) clientAddress('10.0.0.1', '203.0.113.9, unix:')
    clientAddress('10.0.0.1', 'nonsense')
    clientAddress('10.0.0.1', '203.0.113.9, nonsense, 10.2.2.2')
    expect(told).toEqual([
      { proxy: '10.0.0.1', entry: 'unix:' },
      { proxy: '10.2.2.2', entry: 'nonsense' },
    ])
    for (let last = 1; last < 200; last++) clientAddress(`10.9.9.${last}`, `${'x'.repeat(5000)}`)
    expect(told.length).toBeLessThan(20)
    expect(told.at(-1)?.entry).toHaveLength(64)
  })

  test('is not reported for a client’s own entry, or for an untrusted peer', () => {
    let told = 0
    const clientAddress = createClientAddress(PROXIES, { warn: () => told++ })
    clientAddress('10.0.0.1', 'nonsense, 203.0.113.9')
    clientAddress('203.0.113.9', 'nonsense')
    clientAddress('10.0.0.1', '203.0.113.9,')
    clientAddress('10.0.0.1', '')
    expect(told).toBe(0)
  })
})

test('invalid ranges are refused', () => {
  for (const text of ['x', '10.0.0.0/33', '1.2.3', '::/129', '']) expect(() => parseRanges([text])).toThrow()
})

test.each([
  ['203.0.113.9', '203.0.113.0'],
  ['::ffff:203.0.113.9', '203.0.113.0'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1::'],
  ['fe80::1%eth0', 'fe80::'],
  ['64:ff9b::203.0.113.7', '203.0.113.0'],
  ['none', ''],
])('%s is cut to %s for logs', (address, network) => {
  expect(shortenAddress(address)).toBe(network)
})
