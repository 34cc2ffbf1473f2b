/** Reads a certificate and its key as a customer uploads them. */
import { createPrivateKey, type KeyObject } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { AppError } from '../../../core/errors.ts'
import { type Chain, readChain } from './chain.ts'
import { requireStrong } from './request.ts'

export type Upload = { chain: Chain /** PKCS #8 in PEM. */; key: string }

const PRIVATE_KEY = /-----BEGIN ([A-Z ]+ )?PRIVATE KEY-----/
/** PKCS #8 (RFC 5958 §3), and what OpenSSL wrote before it. */
const ENCRYPTED = /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m
/** RFC 5280 §4.2.1.12. */
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1'

/**
 * @param now milliseconds since the epoch
 * @throws AppError `validation_error` naming the field, never with what the key holds
 */
export function readUpload(texts: { certificate: string; privateKey: string }, now: number): Upload {
  const chain = certificateOf(texts.certificate, now)
  const key = keyOf(texts.privateKey)
  if (!chain.leaf.checkPrivateKey(key)) throw invalid('private_key', 'is not the key of the certificate')
  const pem = key.export({ type: 'pkcs8', format: 'pem' }).toString()
  try {
    createSecureContext({ cert: chain.pem, key: pem })
  } catch {
    throw invalid('certificate', 'cannot be served with this key')
  }
  return { chain, key: pem }
}

function certificateOf(text: string, now: number): Chain {
  if (PRIVATE_KEY.test(text)) throw invalid('certificate', 'contains a private key; send that as private_key')
  const chain = attempt('certificate', () => readChain(text))
  const { leaf, names, notBefore, notAfter } = chain
  if (leaf.ca) throw invalid('certificate', 'begins with that of an authority; send the one of the site first')
  if (names.length === 0) throw invalid('certificate', 'names no domain (subjectAltName)')
  attempt('certificate', () => requireStrong(leaf.publicKey), 'has a key that')
  if (leaf.keyUsage && !leaf.keyUsage.includes(SERVER_AUTH)) throw invalid('certificate', 'is not for servers')
  const day = (at: number) => new Date(at).toISOString().slice(0, 10)
  if (notAfter <= now) throw invalid('certificate', `has expired on ${day(notAfter)}`)
  if (notBefore > now) throw invalid('certificate', `is not valid before ${day(notBefore)}`)
  return chain
}

function keyOf(text: string): KeyObject {
  if (ENCRYPTED.test(text)) {
    throw invalid('private_key', 'is protected by a passphrase; remove it: openssl pkey -in FILE -out NEW')
  }
  if (!PRIVATE_KEY.test(text)) throw invalid('private_key', 'must be a private key in PEM')
  try {
    return createPrivateKey(text)
  } catch {
    throw invalid('private_key', 'cannot be read; it must be a private key in PEM')
  }
}

function attempt<Result>(field: string, read: () => Result, before = ''): Result {
  try {
    return read()
  } catch (error) {
    throw invalid(field, `${before} ${(error as Error).message}`.trim())
  }
}

const invalid = (field: string, rule: string) => new AppError('validation_error', `${field}: ${rule}`)
