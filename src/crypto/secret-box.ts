/** Encrypts small secrets for the database: AES-256-GCM (ASVS V11.3.2). */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'

export type SecretBox = {
  /** @param context what the secret belongs to; opening needs the same, so a sealed value cannot be moved elsewhere */
  seal(plaintext: string, context: string): string
  /** @throws Error for another key, another context, or a changed text */
  open(sealed: string, context: string): string
  /**
   * Tells whether a secret is one that was sealed in the same context. Without the key nobody can try guesses on it.
   *
   * @returns 16 hexadecimal digits
   */
  fingerprint(plaintext: string, context: string): string
}

const NONCE_BYTES = 12
const TAG_BYTES = 16
const FINGERPRINT_DIGITS = 16

/** @param key 32 bytes or more; the first 32 are used */
export function createSecretBox(key: Buffer): SecretBox {
  const aesKey = key.subarray(0, 32)
  const macKey = Buffer.from(hkdfSync('sha256', aesKey, '', 'fingerprint', 32))
  return {
    seal(plaintext, context) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', aesKey, nonce).setAAD(Buffer.from(context))
      const body = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64')
    },
    open(sealed, context) {
      const bytes = Buffer.from(sealed, 'base64')
      const decipher = createDecipheriv('aes-256-gcm', aesKey, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
      decipher.setAAD(Buffer.from(context))
      decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
      return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString(
        'utf8',
      )
    },
    fingerprint: (plaintext, context) =>
      createHmac('sha256', macKey).update(`${context}\0${plaintext}`).digest('hex').slice(0, FINGERPRINT_DIGITS),
  }
}
