/** A certificate request (PKCS #10) with a fresh key. */
import * as x509 from '@peculiar/x509'

/** @returns the request in DER, and its private key (ECDSA P-256) in PEM */
export async function requestCertificate(names: readonly string[]): Promise<{ csr: Uint8Array; key: string }> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    keys,
    signingAlgorithm: algorithm,
    extensions: [new x509.SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns' as const, value })))],
  })
  const pkcs8 = await crypto.subtle.exportKey('pkcs8', keys.privateKey)
  return { csr: new Uint8Array(request.rawData), key: `${x509.PemConverter.encode(pkcs8, 'PRIVATE KEY')}\n` }
}
