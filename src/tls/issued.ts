/** The certificate that an authority issued for the configured names, and when to renew it. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import type { Config } from '../config/schema.ts'
import type { Clock } from '../core/clock.ts'
import { writePrivateFile } from '../crypto/secret.ts'
import { dataPaths } from '../data-directory.ts'
import type { PublishChallenge } from './acme/client.ts'
import { type Certificate, describeCertificate } from './pem.ts'

type AcmeConfig = Pick<Config, 'data' | 'acmeDomains' | 'acmeEmail' | 'acmeDirectory' | 'acmeHttpPort' | 'acmeWebroot'>

/** The share of its life that is left when a certificate is renewed; it leaves time for an authority that is away. */
const RENEWAL_SHARE = 1 / 3
const KEY = /-----BEGIN PRIVATE KEY-----.*?-----END PRIVATE KEY-----\n/s

/** Whether the configuration asks for a certificate of an authority. */
export function isIssued({ tls, acmeDomains }: Pick<Config, 'tls' | 'acmeDomains'>): boolean {
  return tls && acmeDomains.length > 0
}

/** @returns undefined where there is none yet, or one of other names or another authority, or an expired one */
export function issuedCertificate(config: AcmeConfig, clock: Clock): Certificate | undefined {
  const path = pathOf(config)
  if (!existsSync(path)) return undefined
  const text = readFileSync(path, 'utf8')
  const [key] = KEY.exec(text) ?? []
  if (key === undefined || !text.startsWith(originOf(config))) return undefined
  const cert = text.slice(originOf(config).length).replace(key, '')
  try {
    if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) return undefined
  } catch {
    return undefined
  }
  const certificate = describeCertificate(cert, key, path)
  return certificate.expiresAt > clock.now() ? certificate : undefined
}

/** @param certificate the one there is; without any it is high time */
export function isRenewalDue(certificate: Certificate | undefined, clock: Clock): boolean {
  if (!certificate) return true
  const issuedAt = Date.parse(new X509Certificate(certificate.cert).validFrom)
  return certificate.expiresAt - clock.now() < (certificate.expiresAt - issuedAt) * RENEWAL_SHARE
}

/**
 * Orders a certificate and keeps it.
 *
 * @param publish in place of a port or a webroot of the configuration
 * @throws Error in the authority's words, or when it cannot be reached
 */
export async function issueAndKeep(config: AcmeConfig, publish?: PublishChallenge): Promise<Certificate> {
  const { tls, acmeAccountKey } = dataPaths(config.data)
  mkdirSync(tls, { recursive: true, mode: 0o700 })
  // The polyfill first: the bundler keeps the order of two imports, not that of one file's.
  await import('reflect-metadata')
  const { issueCertificate } = await import('./acme/issue.ts')
  const { cert, key } = await issueCertificate({
    names: config.acmeDomains,
    directoryUrl: config.acmeDirectory,
    email: config.acmeEmail,
    webroot: config.acmeWebroot,
    port: config.acmeHttpPort,
    publish,
    accountKeyPath: acmeAccountKey,
  })
  // One file: a reader never finds the key of another certificate.
  writePrivateFile(pathOf(config), `${originOf(config)}${cert.trimEnd()}\n${key}`)
  return describeCertificate(cert, key, pathOf(config))
}

function pathOf({ data }: AcmeConfig): string {
  return dataPaths(data).issuedCertificate
}

/** Explanatory text in front of the PEM (RFC 7468 §2): a change of either asks for another certificate. */
function originOf({ acmeDomains, acmeDirectory }: AcmeConfig): string {
  return `${acmeDomains.join(' ')}, by ${acmeDirectory}\n`
}
