/** The certificate that the panel serves: the operator's, one from an authority, or a self-signed one. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/schema.ts'
import type { Clock } from '../core/clock.ts'
import { writePrivateFile } from '../crypto/secret.ts'
import { dataNames, dataPaths, tlsNames } from '../data-directory.ts'
import { givenCertificate } from './given.ts'
import { isIssued, issuedCertificate } from './issued.ts'
import { type Certificate, describeCertificate } from './pem.ts'

const RENEWAL_DAYS = 30
const DAY_MS = 86_400_000

/** Where the installation keeps a certificate of its own. */
export function ownDirectory({ data }: Pick<Config, 'data'>): string {
  return join(data, dataNames.tls)
}

/**
 * Reads the certificate of these settings again; the self-signed one is made and renewed where needed.
 *
 * @returns undefined where plain HTTP is served
 * @throws ConfigError for a given one that cannot be used
 */
export async function certificateOf(config: Config, clock: Clock): Promise<Certificate | undefined> {
  if (!config.tls) return undefined
  if (config.tlsCert !== undefined || isIssued(config)) {
    // Until the authority has issued one, the panel's own has to do.
    const existing = existingCertificate(config, clock)
    if (existing) return existing
  }
  const directory = ownDirectory(config)
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  return ownCertificate(directory, clock)
}

/**
 * The certificate of these settings as it is.
 *
 * @returns undefined where there is none yet
 * @throws ConfigError for a given one that cannot be used
 */
export function existingCertificate(config: Config, clock: Clock): Certificate | undefined {
  const given = givenCertificate(config)
  if (given) return given
  if (isIssued(config)) return issuedCertificate(config, clock)
  const directory = ownDirectory(config)
  return read(join(directory, tlsNames.certificate), join(directory, tlsNames.certificateKey))
}

/** The file of the certificate that the panel makes or orders itself, which may not exist yet. */
export function certificatePath(config: Config): string {
  return isIssued(config) ? dataPaths(config.data).issuedCertificate : join(ownDirectory(config), tlsNames.certificate)
}

/**
 * Reads the installation's own certificate from `directory`. Makes it at the first call, and again in its last month.
 *
 * @param directory exists already, mode 0700
 * @param options.renew renew it whatever its age
 */
export async function ownCertificate(
  directory: string,
  clock: Clock,
  { renew = false }: { renew?: boolean } = {},
): Promise<Certificate> {
  const path = join(directory, tlsNames.certificate)
  const keyPath = join(directory, tlsNames.certificateKey)
  if (!renew) {
    const existing = read(path, keyPath)
    if (existing && existing.expiresAt - clock.now() > RENEWAL_DAYS * DAY_MS) return existing
  }
  // Loaded when it is needed, once in a year: it would cost every start a good part of its time.
  // The polyfill first: the bundler keeps the order of two imports, not that of one file's.
  await import('reflect-metadata')
  const { selfSign } = await import('./self-sign.ts')
  const made = await selfSign(clock)
  writePrivateFile(keyPath, made.key)
  writePrivateFile(path, made.cert)
  return describeCertificate(made.cert, made.key, path)
}

/** @returns undefined for a pair that is missing, or damaged, or half of an old and half of a new one after a crash */
function read(path: string, keyPath: string): Certificate | undefined {
  if (!existsSync(path) || !existsSync(keyPath)) return undefined
  const [cert, key] = [readFileSync(path, 'utf8'), readFileSync(keyPath, 'utf8')]
  try {
    if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) return undefined
  } catch {
    return undefined
  }
  return describeCertificate(cert, key, path)
}
