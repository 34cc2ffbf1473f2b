/** Reads a node's certificate request, which is hostile input: it must be for exactly the names that were asked for. */
import type { KeyObject } from 'node:crypto'

const SUBJECT_ALTERNATIVE_NAME = '2.5.29.17'

export type CheckedRequest = {
  der: Uint8Array
  /** In DER (SubjectPublicKeyInfo): the certificate must be for this key. */
  publicKey: Uint8Array
}

/**
 * @param csr PKCS #10 in base64 (DER)
 * @throws Error for an operator
 */
export async function checkRequest(csr: string, names: readonly string[]): Promise<CheckedRequest> {
  // Loaded when it is needed; the polyfill first: the bundler keeps the order of two imports, not that of one file's.
  await import('reflect-metadata')
  const x509 = await import('@peculiar/x509')
  const der = Uint8Array.from(Buffer.from(csr, 'base64'))
  const request = new x509.Pkcs10CertificateRequest(der)
  const { createPublicKey } = await import('node:crypto')
  const publicKey = new Uint8Array(request.publicKey.rawData)
  requireStrong(createPublicKey({ key: Buffer.from(publicKey), format: 'der', type: 'spki' }))
  if (!(await request.verify())) throw new Error('the request is not signed with its key')
  if (request.subject !== '') throw new Error('the request has a subject')
  const [extension, ...others] = request.extensions
  if (extension?.type !== SUBJECT_ALTERNATIVE_NAME || others.length > 0) {
    throw new Error('the request asks for more than names')
  }
  const asked = new x509.SubjectAlternativeNameExtension(extension.rawData).names.items
  const found = asked.map(({ type, value }) => (type === 'dns' ? value : `${type} ${value}`))
  if (found.toSorted().join() !== names.toSorted().join()) {
    throw new Error(`the request is for ${found.join(', ').slice(0, 500)}, not for ${names.join(', ')}`)
  }
  return { der, publicKey }
}

/** Of those that public authorities take. @throws Error */
export function requireStrong({ asymmetricKeyType: type, asymmetricKeyDetails: details = {} }: KeyObject): void {
  const { modulusLength = 0, namedCurve = '' } = details
  if (type === 'rsa' && modulusLength >= 2048 && modulusLength <= 4096) return
  if (type === 'ec' && ['prime256v1', 'secp384r1'].includes(namedCurve)) return
  throw new Error('must be RSA with 2048 to 4096 bits, or ECDSA on P-256 or P-384')
}
