/** Finds the address that a request comes from, directly or through trusted proxies. */
import type { Log } from '../log/log.ts'
import { type AddressRange, type ClientAddress, createAddressFilter, describeAddress } from './address.ts'

/** A client that has no address that can be trusted: it is in no range, and all such clients count as one. */
const UNKNOWN: ClientAddress = { address: 'unknown', group: 'unknown' }
/** Addresses seen recently; parsing an IPv6 address costs more than the rest of the gate. */
const MEMO_ENTRIES = 10_000
/** The longest notation has an IPv6 address, a zone, brackets and a port. */
const MAX_ENTRY_LENGTH = 80
/** How much of an entry that cannot be read is logged, and for how many proxies. */
const LOGGED = { characters: 64, proxies: 16 }

/** IPv6 in brackets or IPv4, and perhaps a port. A bare IPv6 address has no port, which could not be told from the address. */
const WITH_PORT = /^(?:\[([^\]]*:[^\]]*)\]|([\d.]+))(?::(\d{1,5}))?$/
const MAX_PORT = 65_535

type Hop = { client: ClientAddress; isTrusted: boolean }

/**
 * Makes the function that finds a request's client. `X-Forwarded-For` is read right to left, and only as far as the
 * hops are trusted proxies: what stands further left was written by the client (ASVS V4.1.3).
 *
 * An unreadable entry ends the search with an unknown client. What stands left of it came from a client that the proxy could
 * not name, so it may be forged; and the proxy's own address would open an API key that is limited to it.
 *
 * @param log warned once of each proxy that writes such an entry
 */
export function createClientAddress(trustedProxies: readonly AddressRange[], log: Pick<Log, 'warn'>) {
  const memo = new Map<string, Hop>()
  const logged = new Set<string>()
  const isTrusted = createAddressFilter(trustedProxies)

  function hopOf(entry: string): Hop | undefined {
    const known = memo.get(entry)
    if (known || entry.length > MAX_ENTRY_LENGTH) return known
    const client = describeAddress(withoutPort(entry))
    if (!client) return undefined
    const hop = { client, isTrusted: isTrusted(client.address) }
    if (memo.size >= MEMO_ENTRIES) memo.clear()
    memo.set(entry, hop)
    return hop
  }

  function warn({ client: { address: proxy } }: Hop, entry: string): void {
    if (logged.has(proxy) || logged.size >= LOGGED.proxies) return
    logged.add(proxy)
    log.warn(
      { proxy, entry: entry.slice(0, LOGGED.characters) },
      'a trusted proxy sends an invalid X-Forwarded-For, so its clients share one rate limit; see docs/operations/proxy.md',
    )
  }

  /**
   * @param peer the socket's address; undefined when the connection is already gone
   * @param forwardedFor the `X-Forwarded-For` header
   */
  return function clientAddress(peer: string | undefined, forwardedFor: string | null): ClientAddress {
    let hop = peer === undefined ? undefined : hopOf(peer)
    if (!hop) return UNKNOWN
    if (forwardedFor === null || !hop.isTrusted) return hop.client
    for (let end = forwardedFor.length; end >= 0 && hop.isTrusted; ) {
      const comma = end === 0 ? -1 : forwardedFor.lastIndexOf(',', end - 1)
      const entry = forwardedFor.slice(comma + 1, end).trim()
      end = comma
      // An empty element of a list means nothing (RFC 9110 §5.6.1).
      if (entry === '') continue
      const next = hopOf(entry)
      if (!next) {
        warn(hop, entry)
        return UNKNOWN
      }
      hop = next
    }
    return hop.client
  }
}

function withoutPort(entry: string): string {
  const [, bracketed, plain, port] = WITH_PORT.exec(entry) ?? []
  const isPort = port === undefined || Number(port) <= MAX_PORT
  return (isPort && (bracketed ?? plain)) || entry
}
