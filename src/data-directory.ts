/** The names of everything in the data directory. */
import { join } from 'node:path'

/** Paths below the data directory. */
export const dataNames = {
  database: 'ncp.db',
  /** Held by every process that works in the directory. */
  lock: 'ncp.lock',
  /** Signs JWTs. */
  jwtKey: 'jwt.key',
  /** Seals the seeds of second factors, and what waits to be sent. */
  totpKey: 'totp.key',
  /** The first password, until it is changed. */
  initialAdminPassword: 'initial-admin-password',
  /** The credentials of `serve --demo`. */
  demo: 'demo.json',
  tls: 'tls',
  /** The panel's own certificate. */
  certificate: 'tls/cert.pem',
  certificateKey: 'tls/key.pem',
  /** The certificate that an authority issued, with its key. */
  issuedCertificate: 'tls/acme.pem',
  acmeAccountKey: 'tls/acme-account.key',
  /** Unless the settings name another place. */
  backups: 'backups',
  /** There while a restore is under way, and after one that was interrupted. */
  restoreMark: 'restore-unfinished',
  /** Made and removed by readiness. */
  writeProbe: 'write-probe',
} as const

export type DataPaths = Record<keyof typeof dataNames, string>

/** Where everything lies that belongs to the panel of a data directory, whether it is there or not. */
export function dataPaths(directory: string): DataPaths {
  return Object.fromEntries(Object.entries(dataNames).map(([what, name]) => [what, join(directory, name)])) as DataPaths
}
