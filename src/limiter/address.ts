/** Parses IP addresses, matches them against ranges, and groups those that count as one client. */
import ipaddr from 'ipaddr.js'

export type AddressRange = [ipaddr.IPv4 | ipaddr.IPv6, number]

export type ClientAddress = {
  /** The address in its shortest form, for logs and sessions. */
  address: string
  /** What limits count by: an IPv4 address, or the /64 of an IPv6 one, since a customer of an ISP gets at least that. */
  group: string
}

/** The address of a translator between IPv6 and IPv4 holds that of its client in the last 32 bits (RFC 6052 §2.1). */
const TRANSLATED: AddressRange = [ipaddr.IPv6.parse('64:ff9b::'), 96]
/** What no translated address may hold (RFC 6052 §3.1), or a stranger could take the form of a trusted proxy. */
const NEVER_TRANSLATED = new Set([
  'unspecified',
  'broadcast',
  'multicast',
  'linkLocal',
  'loopback',
  'carrierGradeNat',
  'private',
])

/**
 * @param texts CIDR ranges or single addresses, IPv4 or IPv6
 * @throws Error for a text that is neither
 */
export function parseRanges(texts: readonly string[]): AddressRange[] {
  return texts.map((text) => {
    const [, host = text] = /^(.+)\/\d+$/.exec(text) ?? []
    if (!isAddress(host) || host.includes('%')) throw new Error(`${text} is not an address`)
    if (host !== text) return ipaddr.parseCIDR(text)
    const address = ipaddr.process(text)
    return [address, address.kind() === 'ipv4' ? 32 : 128]
  })
}

/**
 * The one way to write a range: the network's first address and the prefix, `/32` or `/128` for a single one.
 *
 * @returns undefined for a text that is none, for IPv4 written as IPv6, which no client address ever is, and for an address
 * with a zone (`fe80::1%eth0`), which would be another range without it
 */
export function normalizeRange(text: string): string | undefined {
  const [, host = text, prefix] = /^(.+)\/(\d{1,3})$/.exec(text) ?? []
  if (!isAddress(host) || host.includes('%')) return undefined
  const address = ipaddr.parse(host)
  const bits = address.kind() === 'ipv4' ? 32 : 128
  const length = prefix === undefined ? bits : Number(prefix)
  if (length > bits || (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress())) return undefined
  const range = `${address}/${length}`
  const network =
    address.kind() === 'ipv4' ? ipaddr.IPv4.networkAddressFromCIDR(range) : ipaddr.IPv6.networkAddressFromCIDR(range)
  return `${network}/${length}`
}

/** Makes the function that tells whether an address is in one of the ranges. */
export function createAddressFilter(ranges: readonly AddressRange[]): (address: string) => boolean {
  return (text) => {
    const ip = parseAddress(text)
    return ip !== undefined && ranges.some(([range, bits]) => range.kind() === ip.kind() && ip.match(range, bits))
  }
}

/** @returns undefined for a text that is not an address */
export function describeAddress(text: string): ClientAddress | undefined {
  const ip = parseAddress(text)
  if (!ip) return undefined
  const address = ip.toString()
  return { address, group: ip instanceof ipaddr.IPv6 ? `${networkOf(ip, 4)}/64` : address }
}

/** For logs that must not tell people apart: the network of an address, a /24 of IPv4 or a /48 of IPv6. @returns "" for no address */
export function shortenAddress(text: string): string {
  const ip = parseAddress(text)
  if (!ip) return ''
  return `${ip instanceof ipaddr.IPv6 ? networkOf(ip, 3) : ipaddr.IPv4.networkAddressFromCIDR(`${ip}/24`)}`
}

/** IPv4 written as IPv6 is IPv4. A zone names an interface of the machine that wrote it, and means nothing on another. */
function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (!isAddress(text)) return undefined
  const ip = ipaddr.process(text.replace(/%.*/, ''))
  if (!(ip instanceof ipaddr.IPv6) || !ip.match(TRANSLATED)) return ip
  const client = new ipaddr.IPv4(ip.toByteArray().slice(12))
  return NEVER_TRANSLATED.has(client.range()) ? ip : client
}

/** Four decimal parts or IPv6; the library alone also takes `1.2.3` and `0x7f.1`. */
function isAddress(text: string): boolean {
  return ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text)
}

/** @param parts how many of its eight groups of 16 bits stay */
function networkOf(ip: ipaddr.IPv6, parts: number): string {
  return new ipaddr.IPv6(ip.parts.map((part, position) => (position < parts ? part : 0))).toString()
}
