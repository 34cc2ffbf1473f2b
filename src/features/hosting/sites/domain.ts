/** Domain names: from what people type to what the DNS knows. */
import { domainToASCII } from 'node:url'

const MAX_LENGTH = 253
/** RFC 1123 §2.1: 1 to 63 letters, digits and inner hyphens. */
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
/** ASCII that no domain name contains, such as `%`, which the URL standard would decode first. */
const FOREIGN_ASCII = /[^a-z0-9.\-\u0080-\u{10ffff}]/iu

/**
 * Lower-cases a domain and turns international names into punycode (UTS #46, as browsers do).
 *
 * @returns undefined unless it is a full domain name: not for one label, an IP address, a wildcard, an underscore
 */
export function normalizeDomain(text: string): string | undefined {
  if (FOREIGN_ASCII.test(text)) return undefined
  const ascii = domainToASCII(text)
  const labels = ascii.split('.')
  if (ascii.length > MAX_LENGTH || labels.length < 2 || !labels.every((label) => LABEL.test(label))) return undefined
  // If the last label is all digits, the name would be an IPv4 address.
  return /^\d+$/.test(labels.at(-1) ?? '') ? undefined : ascii
}

/** Sorts a name right after the ones above it: `www.example.com` is `com.example.www.`. */
export function reversed(domain: string): string {
  return `${domain.split('.').toReversed().join('.')}.`
}
