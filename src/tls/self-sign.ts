/** Makes a self-signed certificate for the names and addresses of this machine. */
import { hostname, networkInterfaces } from 'node:os'
import * as x509 from '@peculiar/x509'
import type { Clock } from '../core/clock.ts'

/** Browsers refuse longer ones for servers. */
const VALIDITY_DAYS = 397
const DAY_MS = 86_400_000

/** @returns certificate and private key (ECDSA P-256), in PEM */
export async function selfSign(clock: Clock): Promise<{ cert: string; key: string }> {
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
  const addresses = ownAddresses()
  return [
    ...[...new Set(['localhost', hostname()])].map((value) => ({ type: 'dns' as const, value })),
    ...[...new Set(['127.0.0.1', '::1', ...addresses])].map((value) => ({ type: 'ip' as const, value })),
  ]
}

function ownAddresses(): string[] {
  try {
    return Object.values(networkInterfaces())
      .flat()
      .flatMap((entry) => (entry && !entry.address.startsWith('fe80:') ? [entry.address] : []))
  } catch {
    // A sandbox without netlink sockets keeps them to itself: names and loopback have to do.
    return []
  }
}
