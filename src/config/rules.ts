/** Parses the text of settings: each rule returns the value, or throws an error that states the rule without the value. */
import { isEmailAddress } from '../core/email.ts'
import { isLoopback } from '../core/loopback.ts'
import { parseRanges } from '../limiter/address.ts'
import { parseSender } from '../mail/sender.ts'

/** An empty variable is a slip of the script that sets it, never a directory or an address. */
export function text(value: string): string {
  if (value === '') throw new Error('must not be empty')
  return value
}

/** A whole number within bounds, both included. */
export function integer(minimum: number, maximum: number) {
  return (value: string) => {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
    if (!(number >= minimum && number <= maximum)) throw new Error(`must be a number from ${minimum} to ${maximum}`)
    return number
  }
}

export function trueOrFalse(value: string): boolean {
  return oneOf('true', 'false')(value) === 'true'
}

export function oneOf<const Values extends readonly string[]>(...values: Values) {
  return (value: string): Values[number] => {
    if (!values.includes(value)) throw new Error(`must be one of ${values.join(', ')}`)
    return value
  }
}

/** Any of the names, separated by commas; `all` stands for every one of them. */
export function someOf<const Names extends readonly string[]>(...names: Names) {
  return (value: string): Names[number][] => {
    const listed = value.split(',').flatMap((entry) => entry.trim() || [])
    if (!listed.every((name) => name === 'all' || names.includes(name))) {
      throw new Error(`must be names, separated by commas, out of ${names.join(', ')}, or all`)
    }
    return names.filter((name) => listed.includes('all') || listed.includes(name))
  }
}

/** Addresses and CIDR ranges, separated by commas. */
export function addressRanges(value: string): string[] {
  const ranges = value.split(',').flatMap((entry) => entry.trim() || [])
  try {
    parseRanges(ranges)
  } catch {
    throw new Error('must be addresses or CIDR ranges, separated by commas')
  }
  return ranges
}

/** Names of this machine that are proved over HTTP: no wildcards and no addresses (RFC 8555 §8.3). */
export function domainNames(value: string): string[] {
  const names = value.split(',').flatMap((entry) => entry.trim().toLowerCase() || [])
  if (!names.every((name) => DOMAIN_NAME.test(name) && name.length <= 253)) {
    throw new Error('must be full domain names in ASCII, separated by commas')
  }
  return [...new Set(names)]
}

/** Labels of RFC 1123, two at least, the last one no number. */
const DOMAIN_NAME = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/

/**
 * Origins of pages, exactly as a browser sends them (RFC 6454 §6.2), separated by commas. Never `*`, nor `null`, which a
 * any sandboxed page has.
 */
export function origins(value: string): string[] {
  const listed = value.split(',').flatMap((entry) => entry.trim() || [])
  if (!listed.every(isPageOrigin)) {
    throw new Error(
      'must be origins, separated by commas, as a browser sends them: https://app.example.com or https://app.example.com:8443, in lower case, without a path, a trailing slash or the default port (http:// for this machine only; * and null are never allowed)',
    )
  }
  return [...new Set(listed)]
}

function isPageOrigin(text: string): boolean {
  const url = URL.parse(text)
  // A pattern is a host name to the parser.
  return url !== null && url.origin === text && !text.includes('*') && isPrivate(url)
}

/** A credential that a header can carry (RFC 6750 §2.1), too long to be guessed. */
export function bearerToken(value: string): string {
  if (!/^[A-Za-z0-9\-._~+/]{32,256}$/.test(value)) {
    throw new Error('must be 32 to 256 characters, only letters, digits and -._~+/')
  }
  return value
}

export function httpsUrl(value: string): string {
  if (URL.parse(value)?.protocol !== 'https:') throw new Error('must be an https:// URL')
  return value
}

/** RFC 9116 §2.5.3, of which one line is made: hence no control characters and no blanks. */
export function contactUri(value: string): string {
  const isMail = value.startsWith('mailto:') && isEmailAddress(value.slice('mailto:'.length))
  if (!isMail && (URL.parse(value)?.protocol !== 'https:' || !/^[!-~]+$/.test(value))) {
    throw new Error('must be mailto: with an email address, or an https:// URL')
  }
  return value
}

export function email(value: string): string {
  const address = value.trim()
  if (!isEmailAddress(address)) throw new Error('must be an email address')
  return address
}

/** Who emails come from, with a name or without. */
export function sender(value: string): string {
  parseSender(value)
  return value.trim()
}

/** The base of links in emails: only a place that the reader's browser reaches in private (ASVS V1.2.2). */
export function publicUrl(value: string): string {
  const url = URL.parse(value)
  if (!url || !isPrivate(url) || url.username + url.password + url.search + url.hash !== '' || /[?#@]/.test(value)) {
    throw new Error('must be an https:// URL without user, query or fragment (http:// for this machine only)')
  }
  return url.href.replace(/\/+$/, '')
}

/** Whether requests there are safe from being read or changed on the network. */
function isPrivate({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname.replace(/^\[(.*)\]$/, '$1')))
}
