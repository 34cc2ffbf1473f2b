/** A certificate authority of a test's own, and what it issues, right or wrong. */
import 'reflect-metadata'
import type { webcrypto } from 'node:crypto'
import * as x509 from '@peculiar/x509'

export type Pem = { certificate: string; private_key: string }

type Algorithm = webcrypto.EcKeyGenParams | webcrypto.RsaHashedKeyGenParams

export type LeafOptions = {
  names?: string[]
  /** Milliseconds since the epoch. */
  from?: number
  to?: number
  algorithm?: Algorithm
  isForClients?: boolean
  isAuthority?: boolean
}

const P256: webcrypto.EcKeyGenParams = { name: 'ECDSA', namedCurve: 'P-256' }
const SIGNING = { name: 'ECDSA', hash: 'SHA-256' }
const { serverAuth, clientAuth } = x509.ExtendedKeyUsage
const DAY_MS = 86_400_000

export const rsa = (modulusLength: number): webcrypto.RsaHashedKeyGenParams => ({
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  modulusLength,
  publicExponent: new Uint8Array([1, 0, 1]),
})

const generate = (algorithm: Algorithm) =>
  crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']) as Promise<CryptoKeyPair>

export type TestAuthority = Awaited<ReturnType<typeof createTestAuthority>>

/** @param now milliseconds since the epoch */
export async function createTestAuthority(now: number) {
  const keys = await generate(P256)
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=Test Root, O=Test Authority',
    notBefore: new Date(now - DAY_MS),
    notAfter: new Date(now + 3650 * DAY_MS),
    signingAlgorithm: SIGNING,
    keys,
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  })

  return {
    pem: root.toString('pem'),

    /** The certificate alone, without its authority's. */
    async issue(options: LeafOptions = {}): Promise<Pem> {
      const { names = ['www.example.com'], from = now - DAY_MS, to = now + 90 * DAY_MS, algorithm = P256 } = options
      const leaf = await generate(algorithm)
      const certificate = await x509.X509CertificateGenerator.create({
        subject: 'CN=a site',
        issuer: root.subject,
        notBefore: new Date(from),
        notAfter: new Date(to),
        signingAlgorithm: SIGNING,
        publicKey: leaf.publicKey,
        signingKey: keys.privateKey,
        extensions: [
          new x509.BasicConstraintsExtension(options.isAuthority ?? false, undefined, true),
          new x509.ExtendedKeyUsageExtension([options.isForClients ? clientAuth : serverAuth]),
          ...(names.length === 0
            ? []
            : [new x509.SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns' as const, value })))]),
        ],
      })
      const pkcs8 = await crypto.subtle.exportKey('pkcs8', leaf.privateKey)
      return {
        certificate: `${certificate.toString('pem')}\n`,
        private_key: `${x509.PemConverter.encode(pkcs8, 'PRIVATE KEY')}\n`,
      }
    },
  }
}
