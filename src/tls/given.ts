/** The certificate that the operator provides, checked before it is used. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { labelOf } from '../config/labels.ts'
import { ConfigError } from '../config/load.ts'
import { unreadable } from '../config/places.ts'
import type { Config } from '../config/schema.ts'
import { requirePrivate } from '../system/private-file.ts'
import { readRegularFile } from '../system/regular-file.ts'
import { type Certificate, describeCertificate } from './pem.ts'

/**
 * Whether the start would refuse the certificate, before anything is opened or made.
 *
 * @throws ConfigError
 */
export function checkGivenCertificate(config: Config): void {
  if (config.tls) givenCertificate(config)
}

/**
 * @returns undefined where none is given
 * @throws ConfigError in words that name the setting: OpenSSL would say KEY_VALUES_MISMATCH
 */
export function givenCertificate(config: Config): Certificate | undefined {
  const { tlsCert, tlsKey } = config
  if (tlsCert === undefined || tlsKey === undefined) return undefined
  const [certLabel, keyLabel] = [labelOf(config, 'tlsCert'), labelOf(config, 'tlsKey')]
  const [cert, certificate] = readPem(certLabel, tlsCert, CERTIFICATE, (pem) => new X509Certificate(pem))
  const [key, privateKey] = readPem(keyLabel, tlsKey, PRIVATE_KEY, createPrivateKey)
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new ConfigError([`${keyLabel}: ${tlsKey} is not the key of the certificate ${tlsCert}`])
  }
  try {
    requirePrivate(tlsKey)
  } catch (error) {
    throw new ConfigError([`${keyLabel}: ${(error as Error).message}`])
  }
  return describeCertificate(cert, key, tlsCert)
}

type Kind = { name: string; other: RegExp; otherName: string }

const CERTIFICATE: Kind = { name: 'certificate', other: /-----BEGIN [A-Z ]*PRIVATE KEY-----/, otherName: 'a key' }
const PRIVATE_KEY: Kind = { name: 'private key', other: /-----BEGIN CERTIFICATE-----/, otherName: 'a certificate' }
/** PKCS #8 (RFC 5958 §3), and what OpenSSL wrote before it. */
const ENCRYPTED = /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m

function readPem<Read>(label: string, path: string, kind: Kind, read: (pem: string) => Read): [string, Read] {
  let pem: string
  try {
    pem = readRegularFile(path)
  } catch (error) {
    throw new ConfigError([`${label}: ${unreadable(path, error)}`])
  }
  try {
    return [pem, read(pem)]
  } catch {
    throw new ConfigError([`${label}: ${path} ${unusable(pem, kind)}`])
  }
}

function unusable(pem: string, { name, other, otherName }: Kind): string {
  if (ENCRYPTED.test(pem)) {
    return 'is protected by a passphrase, which the panel cannot ask for; remove it: openssl pkey -in FILE -out NEW'
  }
  if (other.test(pem)) return `contains ${otherName}, not a ${name}; check which file belongs to which setting`
  return `contains no ${name} in PEM`
}
