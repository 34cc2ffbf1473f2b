/** Profiles: panels and the keys for them, in a file that only its owner can read. */
import { closeSync, constants, fstatSync, mkdirSync, openSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { codeOf } from '../core/error-code.ts'
import { writePrivateFile } from '../crypto/secret.ts'
import { ClientFailure } from './failures.ts'

export type Profile = {
  url: string
  key: string
  /** Of a certificate that was accepted by it; undefined where authorities decide. */
  fingerprint?: string | undefined
}

const FIELDS = ['url', 'key', 'fingerprint']
const HEAD = '# Written by ncp login. The keys in it are secret.\n'

/**
 * @returns those of the file by name; none where there is no file
 * @throws ClientFailure `configuration` for a file or a directory that others can read, and for one that is not as
 * `ncp login` writes it
 */
export async function readProfiles(path: string): Promise<Map<string, Profile>> {
  let file: number
  try {
    requirePrivate(dirname(path), statSync(dirname(path)), '0700')
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return new Map()
    throw error
  }
  try {
    // Of the file that is read, not of what its name leads to a moment later.
    requirePrivate(path, fstatSync(file), '0600')
    return await parse(path, readFileSync(file, 'utf8'))
  } finally {
    closeSync(file)
  }
}

/** Adds a profile, or replaces the one of its name. @throws ClientFailure as `readProfiles` does */
export async function saveProfile(path: string, name: string, profile: Profile): Promise<void> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const profiles = (await readProfiles(path)).set(name, profile)
  writePrivateFile(path, HEAD + [...profiles].map(([name, profile]) => toToml(name, profile)).join(''))
}

function requirePrivate(path: string, { mode, uid }: { mode: number; uid: number }, wanted: string): void {
  if ((mode & 0o077) !== 0) {
    throw new ClientFailure(
      'configuration',
      `${path}: others can read it, so its keys may be known; run 'chmod ${wanted} ${path}', and rotate the keys in it`,
    )
  }
  if (uid !== process.getuid?.()) throw new ClientFailure('configuration', `${path}: belongs to another user`)
}

async function parse(path: string, source: string): Promise<Map<string, Profile>> {
  const { getStaticTOMLValue, ParseError, parseTOML } = await import('toml-eslint-parser')
  let tables: Record<string, unknown>
  try {
    tables = getStaticTOMLValue(parseTOML(source)) as Record<string, unknown>
  } catch (error) {
    if (!(error instanceof ParseError)) throw error
    // Not its message, which may quote a key.
    throw new ClientFailure('configuration', `${path}:${error.lineNumber}: is not valid TOML`)
  }
  return new Map(Object.entries(tables).map(([name, table]) => [name, toProfile(`${path}: [${name}]`, table)]))
}

function toProfile(label: string, table: unknown): Profile {
  const refuse = (rule: string) => new ClientFailure('configuration', `${label} ${rule}`)
  if (typeof table !== 'object' || table === null) throw refuse('must be a table')
  const fields = new Map<string, unknown>(Object.entries(table))
  for (const [field, value] of fields) {
    if (!FIELDS.includes(field)) throw refuse(`has an unknown field: ${field}`)
    if (typeof value !== 'string') throw refuse(`${field}: must be text`)
  }
  const [url, key, fingerprint] = FIELDS.map((field) => fields.get(field) as string | undefined)
  if (url === undefined || key === undefined) throw refuse('must have a url and a key')
  return { url, key, fingerprint }
}

function toToml(name: string, { url, key, fingerprint }: Profile): string {
  const fields = Object.entries({ url, key, fingerprint }).filter(([, value]) => value !== undefined)
  // JSON's strings are TOML's basic strings.
  return `\n[${name}]\n${fields.map(([field, value]) => `${field} = ${JSON.stringify(value)}\n`).join('')}`
}
