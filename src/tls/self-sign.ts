/** Makes self-signed certificates: one for the names and addresses of this machine, and one that names nothing. */
import { hostname } from 'node:os'
import * as x509 from '@peculiar/x509'
import type { Clock } from '../core/clock.ts'
import { ownAddresses } from '../system/own-addresses.ts'

/** Browsers refuse longer ones for servers. */
const VALIDITY_DAYS = 397
const DAY_MS = 86_400_000

/** Not the name of this machine, which is no business of a stranger who asks for a name that is not served. */
const PLACEHOLDER = 'no-site-here.invalid'

type Pem = { cert: string; key: string }

/** For this machine. @returns certificate and private key (ECDSA P-256), in PEM */
export const selfSign = (clock: Clock): Promise<Pem> => sign(clock, hostname(), subjectNames())

/** For the names that have no certificate. */
export const selfSignPlaceholder = (clock: Clock): Promise<Pem> =>
  sign(clock, PLACEHOLDER, [{ type: 'dns', value: PLACEHOLDER }])

async function sign(clock: Clock, commonName: string, subjects: x509.JsonGeneralNames): Promise<Pem> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${commonName}`,
    notBefore: new Date(clock.now() - DAY_MS),
    notAfter: new Date(clock.now() + VALIDITY_DAYS * DAY_MS),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(subjects),
    ],
  })
  const pkcs8 = await crypto.subtle.exportKey('pkcs8', keys.privateKey)
  return { cert: `${certificate.toString('pem')}\n`, key: `${x509.PemConverter.encode(pkcs8, 'PRIVATE KEY')}\n` }
}

function subjectNames(): x509.JsonGeneralNames {
  const addresses = ownAddresses()
  return [
    ...[...new Set(['localhost', hostname()])].map((value) => ({ type: 'dns' as const, value })),
    ...[...new Set(['127.0.0.1', '::1', ...addresses])].map((value) => ({ type: 'ip' as const, value })),
  ]
}
