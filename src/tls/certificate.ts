/** The certificate that the panel serves: one that the operator gives, or its own, which it makes and renews. */
import { X509Certificate } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
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
    // Loaded when it is needed, once in a year: it would cost every start a good part of its time.
    // The polyfill first: the bundler keeps the order of two imports, not that of one file's.
    await import('reflect-metadata')
    const { selfSign } = await import('./self-sign.ts')
    const made = await selfSign(clock)
    writePrivateFile(keyPath, made.key)
    writePrivateFile(path, made.cert)
  }
  return { ...readCertificate(path, keyPath), path }
}

/** Whether there is a certificate that will last for a while. */
function isValid(path: string, clock: Clock): boolean {
  if (!existsSync(path)) return false
  const { validTo } = new X509Certificate(readFileSync(path, 'utf8'))
  return Date.parse(validTo) - clock.now() > RENEWAL_DAYS * DAY_MS
}

function fingerprintOf(pem: string): string {
  return new X509Certificate(pem).fingerprint256
}
