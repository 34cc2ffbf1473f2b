/** Which hosts are this machine, so that traffic to them crosses no network. */
import { isIPv4 } from 'node:net'

/** @param host a name or an address, an IPv6 one without brackets */
export function isLoopback(host: string): boolean {
  // RFC 6761 §6.3 for the name, RFC 1122 §3.2.1.3 and RFC 4291 §2.5.3 for the addresses.
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}

/** What a client on this machine connects to. @param host as configured */
export function localHost(host: string | undefined): string {
  return host === undefined || host === '::' || host === '0.0.0.0' ? 'localhost' : host
}
