/** Client addresses: which one a request comes from, and which ones count as the same client. */
import ipaddr from 'ipaddr.js'

export type AddressRange = [ipaddr.IPv4 | ipaddr.IPv6, number]

export type ClientAddress = {
  /** The address in its shortest form, for logs and sessions. */
  address: string
  /** What limits count by: an IPv4 address, or the /64 of an IPv6 one, since a customer of an ISP gets at least that. */
  group: string
}

const UNKNOWN: ClientAddress = { address: 'unknown', group: 'unknown' }
/** Peers seen lately; parsing an IPv6 address costs more than the rest of the gate. */
const MEMO_ENTRIES = 10_000

/**
 * @param texts CIDR ranges or single addresses, IPv4 or IPv6
 * @throws Error for a text that is neither
 */
export function parseRanges(texts: readonly string[]): AddressRange[] {
  return texts.map((text) => {
    const [, host = text] = /^(.+)\/\d+$/.exec(text) ?? []
    if (!isAddress(host)) throw new Error(`${text} is no address`)
    if (host !== text) return ipaddr.parseCIDR(text)
    const address = ipaddr.process(text)
    return [address, address.kind() === 'ipv4' ? 32 : 128]
  })
}

/**
 * The one way to write a range: the network's first address and the prefix, `/32` or `/128` for a single one.
 *
 * @returns undefined for a text that is none, and for IPv4 written as IPv6, which no client address ever is
 */
export function normalizeRange(text: string): string | undefined {
  const [, host = text, prefix] = /^(.+)\/(\d{1,3})$/.exec(text) ?? []
  if (!isAddress(host)) return undefined
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
    if (!isAddress(text)) return false
    const ip = ipaddr.process(text)
    return ranges.some(([range, bits]) => range.kind() === ip.kind() && ip.match(range, bits))
  }
}

/**
 * Makes the function that tells a request's client. `X-Forwarded-For` is read right to left, and only as far as the
 * hops are trusted proxies: what stands further left was written by the client (ASVS V4.1.3).
 */
export function createClientAddress(trustedProxies: readonly AddressRange[]) {
  const memo = new Map<string, ClientAddress>()
  const isTrusted = createAddressFilter(trustedProxies)

  function describe(text: string): ClientAddress {
    const known = memo.get(text)
    if (known) return known
    if (!isAddress(text)) return UNKNOWN
    const ip = ipaddr.process(text)
    const address = ip.toString()
    const group = ip instanceof ipaddr.IPv6 ? `${networkOf(ip)}/64` : address
    const client = { address, group }
    if (memo.size >= MEMO_ENTRIES) memo.clear()
    memo.set(text, client)
    return client
  }

  /**
   * @param peer the socket's address; undefined when the connection is already gone
   * @param forwardedFor the `X-Forwarded-For` header
   */
  return function clientAddress(peer: string | undefined, forwardedFor: string | null): ClientAddress {
    if (peer === undefined) return UNKNOWN
    if (trustedProxies.length === 0 || forwardedFor === null || !isTrusted(peer)) return describe(peer)
    const hops = forwardedFor.split(',').map((hop) => hop.trim())
    let client = peer
    while (hops.length > 0 && isTrusted(client)) {
      const hop = hops.pop() ?? ''
      if (!isAddress(hop)) break
      client = hop
    }
    return describe(client)
  }
}

/** Four decimal parts or IPv6; the library alone also takes `1.2.3` and `0x7f.1`. */
function isAddress(text: string): boolean {
  return ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text)
}

function networkOf(ip: ipaddr.IPv6): string {
  return new ipaddr.IPv6([...ip.parts.slice(0, 4), 0, 0, 0, 0]).toString()
}
