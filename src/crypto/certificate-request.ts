/** A certificate request (PKCS #10) with a key of its own. */
import * as x509 from '@peculiar/x509'

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }

/** @returns the request in DER, and its private key (ECDSA P-256) in PEM */
export async function requestCertificate(names: readonly string[]): Promise<{ csr: Uint8Array; key: string }> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const pkcs8 = await crypto.subtle.exportKey('pkcs8', keys.privateKey)
  return { csr: await sign(names, keys), key: `${x509.PemConverter.encode(pkcs8, 'PRIVATE KEY')}\n` }
}

/** As `requestCertificate`, with a key that it has made before. */
export async function requestAgain(names: readonly string[], key: string): Promise<Uint8Array> {
  const pkcs8 = x509.PemConverter.decodeFirst(key)
  const privateKey = await crypto.subtle.importKey('pkcs8', pkcs8, ALGORITHM, true, ['sign'])
  const { d: _, key_ops: __, ...publicJwk } = await crypto.subtle.exportKey('jwk', privateKey)
  const publicKey = await crypto.subtle.importKey('jwk', publicJwk, ALGORITHM, true, ['verify'])
  return sign(names, { privateKey, publicKey })
}

async function sign(names: readonly string[], keys: CryptoKeyPair): Promise<Uint8Array> {
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [new x509.SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns' as const, value })))],
  })
  return new Uint8Array(request.rawData)
}
