/** The address of a panel, as a profile or a variable names it. */
import { isLoopback } from '../core/loopback.ts'
import { ClientFailure } from './failures.ts'

/**
 * @returns the address, without a path: `https://panel.example.com:3443`
 * @throws ClientFailure `configuration` for what is no address, and for HTTP to another machine
 */
export function readAddress(text: string, label: string): URL {
  const refuse = (rule: string) => new ClientFailure('configuration', `${label}: ${rule}`)
  if (!URL.canParse(text)) throw refuse('must be a URL, such as https://panel.example.com:3443')
  const url = new URL(text)
  if (url.username !== '' || url.password !== '') throw refuse('must have no user name and no password in it')
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') throw refuse('must end after the host and the port')
  if (url.protocol === 'http:' && isLoopback(hostOf(url))) return url
  if (url.protocol !== 'https:') throw refuse('must begin with https://; HTTP would send the key in clear text')
  return url
}

/** Without the brackets of an IPv6 address. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}
