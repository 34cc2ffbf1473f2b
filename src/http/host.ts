/** Reads the Host of a request, strictly: two programs that read it differently could see two hosts (RFC 9112 §3.2). */
import { isIPv6 } from 'node:net'
import { AppError } from '../core/errors.ts'

/** The form of RFC 3986 §3.2.2: a name, IPv4, or IPv6 in brackets, then an optional port, which can be empty. */
const HOST = /^(?:\[([^\]]*)\]|([\w\-.~!$&'()*+;=%]+))(?::([^:/@\s]*))?$/
const MAX_PORT = 65_535

/** On most days, most requests name the same host. */
let lastGood = ''

/** @throws AppError `bad_request` that names the broken rule */
export function requireHost({ headers, url }: Request): void {
  const host = headers.get('host')
  if (host === lastGood && host !== '') return
  const broken = brokenRule(host)
  if (broken !== undefined) throw new AppError('bad_request', `Host: ${broken}`)
  // If the runtime cannot read the Host, the URL has none.
  if (url.startsWith('/')) throw new AppError('bad_request', 'Host: must be a host name or an IP address')
  lastGood = host ?? ''
}

/** Bun joins two Host headers with a comma, and lets HTTP/1.0 omit it. */
function brokenRule(host: string | null): string | undefined {
  if (!host) return 'is required; send the name and the port of this server'
  if (host.includes(',')) return 'must be sent once, with one name'
  const [whole, address, , port = ''] = HOST.exec(host) ?? []
  if (whole === undefined && /:.*:/.test(host)) return 'must have an IPv6 address in brackets, as in [2001:db8::7]:3443'
  if (whole === undefined)
    return 'must be a host name or an IP address, and perhaps a port, without blanks, user or path'
  if (address !== undefined && !isIPv6(address))
    return 'must have an IPv6 address in its brackets, as in [2001:db8::7]:3443'
  if (!/^\d*$/.test(port) || Number(port) > MAX_PORT) return `must have a port from 0 to ${MAX_PORT}, or none`
  return undefined
}
