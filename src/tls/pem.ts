/** A certificate with its private key, as read from a file and served. */
import { X509Certificate } from 'node:crypto'

export type Certificate = {
  /** PEM: the certificate, and the authorities between it and a known one. */
  cert: string
  /** PEM. */
  key: string
  /** Of the certificate's file. */
  path: string
  /** SHA-256 of the certificate, upper-case hex pairs, as browsers show it. */
  fingerprint: string
  /** Milliseconds since the epoch. */
  expiresAt: number
}

/** @throws Error when `cert` contains no certificate in PEM */
export function describeCertificate(cert: string, key: string, path: string): Certificate {
  const { fingerprint256, validTo } = new X509Certificate(cert)
  return { cert, key, path, fingerprint: fingerprint256, expiresAt: Date.parse(validTo) }
}
