/** The names of everything in the data directory. */
import { join } from 'node:path'

/** What the panel keeps for TLS, below `tls`. */
export const tlsNames = {
  /** The panel's own certificate. */
  certificate: 'cert.pem',
  certificateKey: 'key.pem',
  /** The certificate that an authority issued, with its key. */
  issuedCertificate: 'acme.pem',
  acmeAccountKey: 'acme-account.key',
} as const

/** Paths below the data directory. */
export const dataNames = {
  database: 'ncp.db',
  /** What SQLite keeps beside the database while it is open. */
  databaseLog: 'ncp.db-wal',
  databaseLogIndex: 'ncp.db-shm',
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
  certificateKey: `tls/${tlsNames.certificateKey}`,
  issuedCertificate: `tls/${tlsNames.issuedCertificate}`,
  acmeAccountKey: `tls/${tlsNames.acmeAccountKey}`,
  /** Unless the settings name another place. */
  backups: 'backups',
  /** The releases of the sites that the panel itself serves, a directory a site. */
  sites: 'sites',
  /** Uploaded archives, until their node has unpacked them; named after their deployment. */
  siteArchives: 'sites/archives',
  /** Deleted sites, for some days. */
  siteTrash: 'sites/.trash',
  /** The access logs of the sites that the panel itself serves, a directory a site. */
  siteLogs: 'sites/logs',
  /** Where a node on the same machine reaches the panel. */
  nodeSocket: 'node.sock',
  /** See `node/epoch.ts`. */
  nodeEpoch: 'node-epoch',
  /** The private keys of sites' certificates, a directory a site. */
  siteKeys: 'tls/sites',
  /** Where a backup is copied to, before a restore replaces anything. */
  restoring: 'restoring',
  /** There while a restore is under way, and after one that was interrupted. */
  restoreMark: 'restore-unfinished',
  /** Made and removed by readiness. */
  writeProbe: 'write-probe',
} as const

/** The database and what SQLite keeps beside it. */
export const databaseNames = [dataNames.database, dataNames.databaseLog, dataNames.databaseLogIndex]

/** The secrets that a database is of no use without: `totp.key` opens every second factor, `jwt.key` signs every session. */
export const secretNames = [dataNames.jwtKey, dataNames.totpKey]

/** Keys, also with their certificate in one file, and the first password: no panel starts where others can read one of these. */
export const privateNames = [
  ...secretNames,
  dataNames.initialAdminPassword,
  dataNames.certificateKey,
  dataNames.issuedCertificate,
  dataNames.acmeAccountKey,
]

export type DataPaths = Record<keyof typeof dataNames, string>

/** Where everything of a data directory lies, whether it is there or not. */
export function dataPaths(directory: string): DataPaths {
  return Object.fromEntries(Object.entries(dataNames).map(([what, name]) => [what, join(directory, name)])) as DataPaths
}
