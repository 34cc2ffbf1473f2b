/** Random tokens, their hashes, and the secret files of an installation. */
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fchownSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { codeOf } from '../core/error-code.ts'
import { readRegularFile } from '../system/regular-file.ts'
import { sync } from '../system/sync.ts'

const SECRET_BYTES = 32

/** 256 random bits in base64url, for activation tokens and the like (ASVS V11.5.1). */
export function newToken(): string {
  return randomBytes(SECRET_BYTES).toString('base64url')
}

/** 256 random bits in hex, after a prefix that tells people and scanners what it is. */
export function newPrefixedSecret(prefix: string): string {
  return prefix + randomBytes(SECRET_BYTES).toString('hex')
}

/** SHA-256 in hex. Enough for a value of 256 random bits; a password needs `passwords.ts`. */
export function sha256(text: string): string {
  return Bun.SHA256.hash(text, 'hex')
}

/**
 * Reads an installation secret, 32 bytes or more in hex.
 *
 * @param options.create make it when it is missing. Only right on a new installation: with a database there,
 * a silent new secret would end every session or lose every 2FA seed.
 * @throws Error that says what to do, never what the file holds
 */
export function loadSecret(path: string, options: { create: boolean }): Buffer {
  if (!existsSync(path)) {
    if (!options.create) throw new Error(`the secret ${path} is missing: restore it from a backup`)
    writePrivateFile(path, `${randomBytes(SECRET_BYTES).toString('hex')}\n`)
  }
  const text = read(path).trim()
  if (!/^([0-9a-f]{2})*$/i.test(text) || text.length < SECRET_BYTES * 2) {
    throw new Error(
      `the secret ${path} is not valid: it must contain at least ${SECRET_BYTES} bytes in hex (RFC 7518 §3.2)`,
    )
  }
  return Buffer.from(text, 'hex')
}

function read(path: string): string {
  try {
    return readRegularFile(path)
  } catch (error) {
    const code = codeOf(error)
    throw code === undefined ? error : new Error(`cannot read the secret ${path} (${code})`)
  }
}

/**
 * Writes a file that only its owner can read, whole or not at all: a crash leaves no half of it. What root writes
 * belongs to the owner of the directory, whose panel has to read it.
 */
export function writePrivateFile(path: string, text: string): void {
  const unfinished = `${path}.new`
  rmSync(unfinished, { force: true })
  const file = openSync(unfinished, 'wx', 0o600)
  try {
    if (process.getuid?.() === 0) {
      const { uid, gid } = statSync(dirname(path))
      fchownSync(file, uid, gid)
    }
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(unfinished, path)
  // Or a power cut may leave a database whose secret has no name.
  sync(dirname(path))
}
