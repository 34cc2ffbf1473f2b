/** Looks at the certificate that the operator gives, before anything is opened or made. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { ConfigError } from '../config/load.ts'
import type { Config } from '../config/schema.ts'

/**
 * In words that name the flag: OpenSSL would say KEY_VALUES_MISMATCH.
 *
 * @throws ConfigError
 */
export function checkGivenCertificate({ tls, tlsCert, tlsKey }: Config): void {
  if (!tls || tlsCert === undefined || tlsKey === undefined) return
  const certificate = readPem('--tls-cert', 'certificate', tlsCert, (pem) => new X509Certificate(pem))
  const key = readPem('--tls-key', 'private key', tlsKey, createPrivateKey)
  if (!certificate.checkPrivateKey(key)) throw new ConfigError(['--tls-key: is not the key of the certificate'])
}

function readPem<Read>(flag: string, what: string, path: string, read: (pem: string) => Read): Read {
  let pem: string
  try {
    pem = readFileSync(path, 'utf8')
  } catch (error) {
    throw new ConfigError([`${flag}: can't read ${path} (${(error as NodeJS.ErrnoException).code})`])
  }
  try {
    return read(pem)
  } catch {
    throw new ConfigError([`${flag}: ${path} holds no ${what} in PEM`])
  }
}
