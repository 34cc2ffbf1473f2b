/** Reads a public key as OpenSSH writes it (RFC 4253 §6.6, RFC 5656 §3.1, RFC 8709 §4), and refuses everything else. */
import { createHash } from 'node:crypto'
import { AppError } from '../../../core/errors.ts'

export type PublicKey = {
  type: string
  /** In base64. */
  blob: string
  /** `SHA256:…` */
  fingerprint: string
  comment: string
}

/** Three fields, and no options before them. */
const LINE = /^(\S+)[ \t]+([A-Za-z0-9+/]+={0,2})(?:[ \t]+(.*))?$/
const MAX_COMMENT = 200
const ED25519_BYTES = 32
/** By curve: an uncompressed point (SEC 1 §2.3.3). */
const POINT_BYTES: Readonly<Record<string, number>> = { nistp256: 65, nistp384: 97, nistp521: 133 }
const UNCOMPRESSED = 4
const RSA_BITS = { least: 2048, most: 16_384 } as const
const MAX_EXPONENT_BYTES = 8

/**
 * @param text one line: the type, the key, and a comment or none
 * @throws AppError `validation_error` that says what is wrong, and never repeats it
 */
export function readPublicKey(text: string): PublicKey {
  const line = text.trim()
  if (line.includes('PRIVATE KEY')) throw wrong('is a private key: keep it, and send the file that ends in .pub')
  const [, type = '', blob = '', comment = ''] = LINE.exec(line) ?? []
  if (type === '') throw wrong('must be one line of a .pub file, such as ssh-ed25519 AAAA… ada@example.com')
  const bytes = Buffer.from(blob, 'base64')
  if (bytes.toString('base64') !== blob) throw wrong('is not in base64')
  requireKey(type, createReader(bytes))
  if (comment.length > MAX_COMMENT || /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u.test(comment)) {
    throw wrong(`must have a comment of at most ${MAX_COMMENT} characters, without control characters`)
  }
  const fingerprint = `SHA256:${createHash('sha256').update(bytes).digest('base64').replaceAll('=', '')}`
  return { type, blob, fingerprint, comment: comment.trim().toWellFormed() }
}

type Reader = ReturnType<typeof createReader>

function createReader(bytes: Buffer) {
  let at = 0
  return {
    /** A string of RFC 4251 §5. */
    next(): Buffer {
      const end = at + 4
      if (end > bytes.length) throw damaged()
      const length = bytes.readUInt32BE(at)
      if (end + length > bytes.length) throw damaged()
      at = end + length
      return bytes.subarray(end, at)
    },
    requireEnd(): void {
      if (at !== bytes.length) throw damaged()
    },
  }
}

function requireKey(type: string, reader: Reader): void {
  const curve = /^ecdsa-sha2-(nistp(?:256|384|521))$/.exec(type)?.[1]
  if (!['ssh-ed25519', 'ssh-rsa'].includes(type) && curve === undefined) {
    throw wrong('must be of the type ssh-ed25519, ecdsa-sha2-nistp256, -nistp384 or -nistp521, or ssh-rsa')
  }
  if (reader.next().toString('latin1') !== type) throw damaged()
  if (type === 'ssh-ed25519') {
    if (reader.next().length !== ED25519_BYTES) throw damaged()
  } else if (curve !== undefined) {
    if (reader.next().toString('latin1') !== curve) throw damaged()
    const point = reader.next()
    if (point.length !== POINT_BYTES[curve] || point[0] !== UNCOMPRESSED) throw damaged()
  } else requireRsa(reader)
  reader.requireEnd()
}

function requireRsa(reader: Reader): void {
  const exponent = positive(reader.next())
  const modulus = positive(reader.next())
  const isOdd = ((exponent.at(-1) ?? 0) & 1) === 1 && (exponent.length > 1 || (exponent[0] ?? 0) > 1)
  if (exponent.length > MAX_EXPONENT_BYTES || !isOdd) throw damaged()
  const bits = modulus.length * 8 - Math.clz32(modulus[0] ?? 0) + 24
  if (bits < RSA_BITS.least) throw wrong(`has ${bits} bits; RSA needs at least ${RSA_BITS.least}`)
  if (bits > RSA_BITS.most) throw wrong(`has more than ${RSA_BITS.most} bits`)
}

/** An mpint of RFC 4251 §5 in its only form, without the zero that a high bit needs before it. */
function positive(bytes: Buffer): Buffer {
  const [first = 0, second = 0] = bytes
  if (bytes.length === 0 || first >= 0x80 || (first === 0 && second < 0x80)) throw damaged()
  return first === 0 ? bytes.subarray(1) : bytes
}

const wrong = (rule: string) => new AppError('validation_error', `public_key: ${rule}`)
const damaged = () => wrong('is damaged: copy the whole line of the .pub file')
