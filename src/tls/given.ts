/** The certificate that the operator gives, looked at before it is used. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { ConfigError } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { type Certificate, describeCertificate } from './pem.ts'

/**
 * Whether the start would refuse the certificate, before anything is opened or made.
 *
 * @throws ConfigError
 */
export function checkGivenCertificate({ tls, tlsCert, tlsKey }: Config): void {
  if (tls && tlsCert !== undefined && tlsKey !== undefined) givenCertificate(tlsCert, tlsKey)
}

/**
 * @throws ConfigError in words that name the flag: OpenSSL would say KEY_VALUES_MISMATCH
 */
export function givenCertificate(certPath: string, keyPath: string): Certificate {
  const [cert, certificate] = readPem('--tls-cert', 'certificate', certPath, (pem) => new X509Certificate(pem))
  const [key, privateKey] = readPem('--tls-key', 'private key', keyPath, createPrivateKey)
  if (!certificate.checkPrivateKey(privateKey)) throw new ConfigError(['--tls-key: is not the key of the certificate'])
  return describeCertificate(cert, key, certPath)
}

function readPem<Read>(flag: string, what: string, path: string, read: (pem: string) => Read): [string, Read] {
  let pem: string
  try {
    pem = readFileSync(path, 'utf8')
  } catch (error) {
    throw new ConfigError([`${flag}: can't read ${path} (${(error as NodeJS.ErrnoException).code})`])
  }
  try {
    return [pem, read(pem)]
  } catch {
    throw new ConfigError([`${flag}: ${path} holds no ${what} in PEM`])
  }
}
