/** Which requests come from one client. */
import { describe, expect, test } from 'bun:test'
import { createClientAddress, parseRanges } from '../../src/limiter/address.ts'

const direct = createClientAddress([])
const proxied = createClientAddress(parseRanges(['10.0.0.0/8', '2001:db8:ffff::/48', '127.0.0.1']))

describe('an address', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:201', '192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:1:2::9', '2001:db8:1:2::9', '2001:db8:1:2::/64'],
    ['::1', '::1', '::/64'],
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
    ['is ignored from a peer that is no proxy', '192.0.2.1', '203.0.113.9', '192.0.2.1'],
    ['is read from the right', '10.0.0.1', '198.51.100.1, 203.0.113.9', '203.0.113.9'],
    ['is followed through proxies', '10.0.0.1', '203.0.113.9, 10.1.1.1, 10.2.2.2', '203.0.113.9'],
    ['is not followed past a client', '10.0.0.1', '10.9.9.9, 203.0.113.9', '203.0.113.9'],
    ['is matched in its mapped form too', '::ffff:10.0.0.1', '203.0.113.9', '203.0.113.9'],
    ['may hold IPv6', '2001:db8:ffff::1', '2001:db8:1::7', '2001:db8:1::7'],
    ['that is garbage leaves the proxy', '10.0.0.1', 'localhost', '10.0.0.1'],
    ['that ends in garbage leaves the proxy', '10.0.0.1', '203.0.113.9, x', '10.0.0.1'],
    ['that is empty leaves the proxy', '10.0.0.1', '', '10.0.0.1'],
    ['of proxies only gives the first of them', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
  ])('%s', (_, peer, forwarded, expected) => {
    expect(proxied(peer, forwarded).address).toBe(expected)
  })
})

test('ranges that are none are refused', () => {
  for (const text of ['x', '10.0.0.0/33', '1.2.3', '::/129', '']) expect(() => parseRanges([text])).toThrow()
})
