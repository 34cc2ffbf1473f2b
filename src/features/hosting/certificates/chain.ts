/** Reads a chain of certificates in PEM: the certificate of a site, then the authorities that issued it. */
import { X509Certificate } from 'node:crypto'

export type Chain = {
  leaf: X509Certificate
  /** PEM, one after the other and nothing else. */
  pem: string
  /** Lower-case; wildcards too. */
  names: string[]
  /** The organization that issued it, or what it calls itself. */
  issuer: string
  /** SHA-256 in hex. */
  fingerprint: string
  /** Milliseconds since the epoch. */
  notBefore: number
  notAfter: number
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g
const NAME = /^(\*\.)?([a-z0-9_-]+\.)+[a-z0-9-]+$/
export const MAX_CERTIFICATES = 10

/** @throws Error that says what is wrong */
export function readChain(text: string): Chain {
  const blocks = text.match(CERTIFICATE) ?? []
  if (blocks.length === 0) throw new Error('must contain a certificate in PEM')
  if (blocks.length > MAX_CERTIFICATES) throw new Error(`must contain at most ${MAX_CERTIFICATES} certificates`)
  const [leaf, ...others] = blocks.map(parse)
  if (!leaf) throw new Error('must contain a certificate in PEM')
  const issuers = [...others]
  for (let issued = leaf, position = 2; issuers.length > 0; position++) {
    const issuer = issuers.shift()
    if (!issuer) break
    if (!issued.checkIssued(issuer) || !issued.verify(issuer.publicKey)) {
      throw new Error(
        `certificate ${position} did not issue the one before it: send the site's own first, then each authority`,
      )
    }
    issued = issuer
  }
  return {
    leaf,
    pem: `${blocks.join('\n')}\n`,
    names: namesOf(leaf),
    issuer: issuerOf(leaf),
    fingerprint: leaf.fingerprint256.replaceAll(':', '').toLowerCase(),
    notBefore: Date.parse(leaf.validFrom),
    notAfter: Date.parse(leaf.validTo),
  }
}

function parse(block: string, index: number): X509Certificate {
  try {
    return new X509Certificate(block)
  } catch {
    throw new Error(`certificate ${index + 1} cannot be read`)
  }
}

function namesOf({ subjectAltName = '' }: X509Certificate): string[] {
  const names = subjectAltName.split(', ').flatMap((one) => (one.startsWith('DNS:') ? one.slice(4).toLowerCase() : []))
  return [...new Set(names.filter((name) => NAME.test(name)))]
}

function issuerOf({ issuer }: X509Certificate): string {
  const [, organization] = /^O=(.+)$/m.exec(issuer) ?? []
  const [, commonName] = /^CN=(.+)$/m.exec(issuer) ?? []
  return (organization ?? commonName ?? 'unknown').slice(0, 200)
}
