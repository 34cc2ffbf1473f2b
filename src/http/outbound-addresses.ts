/** Which addresses requests that a customer steers may go to. */
import ipaddr from 'ipaddr.js'
import { createAddressFilter, parseRanges } from '../limiter/address.ts'

/** What the Internet registries give out (RFC 4291 §2.4): the rest of IPv6 is special or unused. */
const GLOBAL_UNICAST: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3]

/**
 * Neither loopback, private, of a link, shared, multicast, reserved or for documentation, nor an address that holds another
 * one (6to4, Teredo, NAT64), which could be any of those.
 *
 * @param text an IPv4 or IPv6 address; IPv4 written as IPv6 is IPv4
 */
export function isGlobalUnicast(text: string): boolean {
  // The library takes IPv4 at the end of any IPv6 address for IPv4.
  const isMixed = text.includes(':') && text.includes('.') && !/^::ffff:[^:]+$/i.test(text)
  if (!ipaddr.isValid(text) || text.includes('%') || isMixed) return false
  const address = ipaddr.process(text)
  if (address.range() !== 'unicast') return false
  return address instanceof ipaddr.IPv4 || address.match(GLOBAL_UNICAST)
}

/** @param allow ranges that the operator permits, whatever they are */
export function createOutboundFilter(allow: readonly string[]) {
  const isAllowed = createAddressFilter(parseRanges(allow))

  /** @param own addresses of this machine, which only the operator can permit */
  return (address: string, own: readonly string[] = []): boolean =>
    isAllowed(address) || (isGlobalUnicast(address) && !own.some((one) => isSame(one, address)))
}

/** IPv4 written as IPv6 leads to the same machine. */
const isSame = (one: string, other: string): boolean =>
  ipaddr.isValid(one) && ipaddr.process(one).toString() === ipaddr.process(other).toString()
