/** Time-based one-time passwords, RFC 6238: 30 s, 6 digits, SHA-1; and the recovery codes beside them. */
import { randomInt } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'

const PERIOD_SECONDS = 30
/** How long before its time a code is accepted. */
const EARLY_SECONDS = 5
const SECRET_BYTES = 20
const RECOVERY_CODES = 10
/** Crockford's base32: no I, L, O or U, so that a code survives being written down. */
const RECOVERY_ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const RECOVERY_LENGTH = 26

/** A new seed of 160 bits (RFC 4226 §4 R6), in base32. */
export function newTotpSecret(): string {
  return new Secret({ size: SECRET_BYTES }).base32
}

/**
 * The `otpauth://` URI that authenticator apps read.
 *
 * @param issuer of this installation alone: apps replace an entry that has the same issuer and label
 */
export function totpUri(secret: string, email: string, issuer: string): string {
  // The colon parts issuer and label.
  return totp(secret, { label: email, issuer: issuer.replaceAll(':', ' ') }).toString()
}

/** The time step of a time in milliseconds since the epoch. */
export function stepAt(nowMs: number): number {
  return Math.floor(nowMs / 1000 / PERIOD_SECONDS)
}

/**
 * Finds the time step of a code. The current and the previous step count (RFC 6238 §5.2 allows one for delay), and in its
 * last seconds before it begins the next one, for a phone that is ahead; the caller must accept each step once.
 *
 * @param code with or without the blank or hyphen that apps show in its middle
 * @param nowMs milliseconds since the epoch
 * @returns the step, or undefined for a wrong code
 */
export function totpStep(secret: string, code: string, nowMs: number): number | undefined {
  const step = nearTotpStep(secret, code, nowMs, 1)
  const latest = stepAt(nowMs + EARLY_SECONDS * 1000)
  return step !== undefined && step <= latest ? step : undefined
}

/**
 * Finds the time step of a code that is wrong only in its time.
 *
 * @param window how many steps to look at before and after the current one
 */
export function nearTotpStep(secret: string, code: string, nowMs: number, window: number): number | undefined {
  const digits = code.replaceAll(/[\s-]/g, '')
  if (!/^[0-9]{6}$/.test(digits)) return undefined
  const delta = totp(secret).validate({ token: digits, timestamp: nowMs, window })
  return delta === null ? undefined : stepAt(nowMs) + delta
}

/** Ten codes of 130 random bits each, grouped by five to be read. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: RECOVERY_CODES }, () => {
    const code = Array.from({ length: RECOVERY_LENGTH }, () => RECOVERY_ALPHABET[randomInt(32)]).join('')
    return code.match(/.{1,5}/g)?.join('-') ?? code
  })
}

/** A recovery code as it is hashed: upper-case, without separators, and with the digits that look like letters. */
export function normalizeRecoveryCode(code: string): string {
  return code
    .toUpperCase()
    .replaceAll(/[^0-9A-Z]/g, '')
    .replaceAll('O', '0')
    .replaceAll(/[IL]/g, '1')
}

function totp(secret: string, names: { label: string; issuer: string } | undefined = undefined): TOTP {
  return new TOTP({
    ...names,
    secret: Secret.fromBase32(secret),
    algorithm: 'SHA1',
    digits: 6,
    period: PERIOD_SECONDS,
  })
}
