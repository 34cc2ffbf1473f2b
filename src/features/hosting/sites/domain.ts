/** Domain names: from what people type to what the DNS knows. */
import { domainToASCII } from 'node:url'

const MAX_LENGTH = 253
/** RFC 1123 §2.1: letters, digits and inner hyphens, 1 to 63 of them. */
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
/** ASCII that no domain name has, such as `%`, which the URL standard would decode first. */
const FOREIGN_ASCII = /[^a-z0-9.\-\u0080-\u{10ffff}]/iu

/**
 * Lower-cases a domain and turns international names into punycode (UTS #46, as browsers do).
 *
 * @returns undefined for what isn't a full domain name: one label, an IP address, a wildcard, an underscore
 */
export function normalizeDomain(text: string): string | undefined {
  if (FOREIGN_ASCII.test(text)) return undefined
  const ascii = domainToASCII(text)
  const labels = ascii.split('.')
  if (ascii.length > MAX_LENGTH || labels.length < 2 || !labels.every((label) => LABEL.test(label))) return undefined
  // A last label of digits would make it an IPv4 address.
  return /^\d+$/.test(labels.at(-1) ?? '') ? undefined : ascii
}
