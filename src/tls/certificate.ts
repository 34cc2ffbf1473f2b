/** The certificate that a fresh installation makes for itself: self-signed, with the names and addresses it really has. */
import 'reflect-metadata'
import { existsSync, readFileSync } from 'node:fs'
import { hostname, networkInterfaces } from 'node:os'
import { join } from 'node:path'
import * as x509 from '@peculiar/x509'
import type { Clock } from '../core/clock.ts'
import { writePrivateFile } from '../crypto/secret.ts'

export type Certificate = {
  /** PEM. */
  cert: string
  /** PEM. */
  key: string
  /** SHA-256 of the certificate, upper-case hex pairs, as browsers show it. */
  fingerprint: string
}

/** Browsers refuse longer ones for servers. */
const VALIDITY_DAYS = 397
const RENEWAL_DAYS = 30
const DAY_MS = 86_400_000

/** @throws Error when a file can't be read or holds no certificate */
export function readCertificate(certPath: string, keyPath: string): Certificate {
  const cert = readFileSync(certPath, 'utf8')
  return { cert, key: readFileSync(keyPath, 'utf8'), fingerprint: fingerprintOf(cert) }
}

/**
 * Reads the installation's own certificate from `directory`. Makes it at the first call, and again in its last month.
 *
 * @param directory exists already, mode 0700
 */
export async function ownCertificate(directory: string, clock: Clock): Promise<Certificate & { path: string }> {
  const path = join(directory, 'cert.pem')
  const keyPath = join(directory, 'key.pem')
  if (!isValid(path, clock)) {
    const made = await selfSign(clock)
    writePrivateFile(keyPath, made.key)
    writePrivateFile(path, made.cert)
  }
  return { ...readCertificate(path, keyPath), path }
}

/** Whether there is a certificate that will last for a while. */
function isValid(path: string, clock: Clock): boolean {
  if (!existsSync(path)) return false
  const { notAfter } = new x509.X509Certificate(readFileSync(path, 'utf8'))
  return notAfter.getTime() - clock.now() > RENEWAL_DAYS * DAY_MS
}

async function selfSign(clock: Clock): Promise<{ cert: string; key: string }> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${hostname()}`,
    notBefore: new Date(clock.now() - DAY_MS),
    notAfter: new Date(clock.now() + VALIDITY_DAYS * DAY_MS),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(subjectNames()),
    ],
  })
  const pkcs8 = await crypto.subtle.exportKey('pkcs8', keys.privateKey)
  return { cert: `${certificate.toString('pem')}\n`, key: `${x509.PemConverter.encode(pkcs8, 'PRIVATE KEY')}\n` }
}

function subjectNames(): x509.JsonGeneralNames {
  const addresses = Object.values(networkInterfaces())
    .flat()
    .flatMap((entry) => (entry && !entry.address.startsWith('fe80:') ? [entry.address] : []))
  return [
    ...[...new Set(['localhost', hostname()])].map((value) => ({ type: 'dns' as const, value })),
    ...[...new Set(['127.0.0.1', '::1', ...addresses])].map((value) => ({ type: 'ip' as const, value })),
  ]
}

function fingerprintOf(pem: string): string {
  const der = new x509.X509Certificate(pem).rawData
  const hex = new Bun.CryptoHasher('sha256').update(der).digest('hex').toUpperCase()
  return hex.match(/../g)?.join(':') ?? hex
}
