/** Parses the URL of the mail server that takes the panel's emails. */

export type MailServer = {
  /** A name or an address, an IPv6 one without brackets. */
  host: string
  port: number
  /** TLS from the first byte (`smtps`); `smtp` begins in the clear and goes over to TLS by STARTTLS. */
  implicitTls: boolean
  credentials: { user: string; password: string } | undefined
}

/** Submission, RFC 6409 §3.1 and RFC 8314 §3.3. */
const DEFAULT_PORT = { 'smtp:': 587, 'smtps:': 465 }
const RULE = 'must be smtp:// or smtps:// with a host, and optionally user:password@ (percent-encoded) and a port'

/**
 * @param text `smtps://user:password@mail.example.com:465`
 * @throws Error that states the rule and repeats nothing of the text, which holds a password
 */
export function parseMailServer(text: string): MailServer {
  const url = URL.parse(text)
  if (!url || !isScheme(url.protocol) || /\s/.test(text)) throw new Error(RULE)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const beyond = url.pathname.replace(/^\/$/, '') + url.search + url.hash
  const port = url.port === '' ? DEFAULT_PORT[url.protocol] : Number(url.port)
  const [user, password] = [decoded(url.username), decoded(url.password)]
  if (!/^[a-z0-9.:-]+$/i.test(host) || port === 0 || beyond !== '') throw new Error(RULE)
  if ((user === '') !== (password === '')) throw new Error(RULE)
  return {
    host: host.toLowerCase(),
    port,
    implicitTls: url.protocol === 'smtps:',
    credentials: user === '' ? undefined : { user, password },
  }
}

function isScheme(protocol: string): protocol is keyof typeof DEFAULT_PORT {
  return Object.hasOwn(DEFAULT_PORT, protocol)
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new Error(RULE)
  }
}
