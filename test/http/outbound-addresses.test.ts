/** Which addresses a request may go to whose target a customer chooses. */
import { expect, test } from 'bun:test'
import { createOutboundFilter, isGlobalUnicast } from '../../src/http/outbound-addresses.ts'

test.each([
  '8.8.8.8',
  '1.1.1.1',
  '172.32.0.1',
  '2606:4700::1111',
  '2a00:1450:4001::1',
  // IPv4 in another spelling.
  '::ffff:8.8.8.8',
])('%s is public', (address) => {
  expect(isGlobalUnicast(address)).toBeTrue()
})

test.each([
  // This machine, this network (RFC 1122 §3.2.1.3).
  '127.0.0.1',
  '127.255.255.254',
  '0.0.0.0',
  '0.1.2.3',
  '::1',
  '::',
  // Private, shared, of a link, with the metadata service of a cloud.
  '10.0.0.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '100.64.0.1',
  '169.254.169.254',
  'fd00:ec2::254',
  'fc00::1',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  // Multicast, broadcast, reserved, for documentation and measurements.
  '224.0.0.1',
  'ff02::1',
  '255.255.255.255',
  '240.0.0.1',
  '192.0.0.8',
  '192.0.2.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.9',
  '2001:db8::1',
  '3fff::1',
  '100::1',
  '5f00::1',
  // Addresses that hold another one.
  '::ffff:127.0.0.1',
  '::ffff:10.0.0.1',
  '::ffff:a9fe:a9fe',
  '::7f00:1',
  '::8.8.8.8',
  '2002:7f00:1::',
  '2002:a00:1::',
  '64:ff9b::7f00:1',
  '64:ff9b:1::a00:1',
  '2001::1',
  // No addresses.
  'localhost',
  '127.1',
  '0x7f000001',
  '2130706433',
  '',
])('%j is not', (address) => {
  expect(isGlobalUnicast(address)).toBeFalse()
})

test('the operator permits what is not public, and an address of this machine', () => {
  const permits = createOutboundFilter(['10.1.0.0/16', '203.0.113.7', 'fd00::/8'])
  expect(['10.1.2.3', '203.0.113.7', 'fd12::1', '8.8.8.8'].map((address) => permits(address))).toEqual([
    true,
    true,
    true,
    true,
  ])
  expect(['10.2.0.1', '203.0.113.8', 'fe80::1', '127.0.0.1'].map((address) => permits(address))).toEqual([
    false,
    false,
    false,
    false,
  ])
  expect(permits('8.8.8.8', ['8.8.8.8'])).toBeFalse()
  expect(permits('::ffff:8.8.8.8', ['8.8.8.8'])).toBeFalse()
  expect(permits('2606:4700:0::1111', ['2606:4700::1111'])).toBeFalse()
  expect(permits('10.1.2.3', ['10.1.2.3'])).toBeTrue()
})
