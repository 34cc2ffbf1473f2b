/** Makes a backup while the panel runs: a snapshot of the database, the secrets, and a manifest. */
import { mkdirSync, readdirSync, renameSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { formatTimestamp } from '../core/timestamp.ts'
import { databaseNames, dataNames } from '../data-directory.ts'
import { copyDatabase, inspectDatabase } from '../db/sqlite/snapshot.ts'
import { sync } from '../system/sync.ts'
import { type Backup, backupName, type Manifest, manifestPath, pruneBackups, readBackup } from './catalogue.ts'
import { companionFiles, copyPrivately, hashOfFile } from './files.ts'

export type CreateBackupOptions = {
  /** The data directory. */
  data: string
  /** Where backups are kept; made with mode 0700. */
  directory: string
  /** Milliseconds since the epoch. */
  nowMs: number
  version: string
  /** How many backups stay, this one included; undefined for all. */
  keep: number | undefined
}

/** Left free: a panel whose disk is full cannot write. */
const RESERVE_BYTES = 64 * 1024 * 1024
const UNFINISHED = '.unfinished-'
const DAY_MS = 86_400_000

/** Where the database of a backup is while it is being made. */
export function unfinishedDatabase({ directory, nowMs }: Pick<CreateBackupOptions, 'directory' | 'nowMs'>): string {
  return join(directory, `${UNFINISHED}${backupName(nowMs)}`, dataNames.database)
}

/**
 * It gets its name when it is whole, checked and on the disk: what has the name of a backup is one.
 *
 * @throws Error when the database is damaged, or there is no room
 */
export async function createBackup({ data, directory, nowMs, version, keep }: CreateBackupOptions): Promise<Backup> {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  sweep(directory, nowMs)
  requireRoom(data, directory)
  const name = backupName(nowMs)
  const database = unfinishedDatabase({ directory, nowMs })
  const unfinished = dirname(database)
  mkdirSync(unfinished, { mode: 0o700 })
  try {
    copyDatabase(join(data, dataNames.database), database)
    sync(database)
    const { problems, migrations } = inspectDatabase(database)
    if (problems.length > 0) throw new Error(`the database is damaged: ${problems.join('; ')}`)
    const companions = companionFiles(data)
    for (const path of companions) copyPrivately(join(data, path), join(unfinished, path))
    const manifest: Manifest = {
      format: 1,
      version,
      created_at: formatTimestamp(nowMs),
      schema: migrations.at(-1) ?? '',
      files: await Promise.all([dataNames.database, ...companions].map((path) => describe(unfinished, path))),
    }
    writeFileSync(manifestPath(unfinished), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600, flush: true })
    sync(unfinished)
    const path = join(directory, name)
    renameSync(unfinished, path)
    sync(directory)
    const backup = readBackup(path)
    if (keep !== undefined) pruneBackups(directory, keep)
    return backup
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true })
    throw error
  }
}

async function describe(directory: string, path: string) {
  const file = join(directory, path)
  return { path, size: statSync(file).size, sha256: await hashOfFile(file) }
}

/** What a crash has left. A backup under way is younger. */
function sweep(directory: string, nowMs: number): void {
  for (const name of readdirSync(directory).filter((name) => name.startsWith(UNFINISHED))) {
    const path = join(directory, name)
    if (nowMs - statSync(path).mtimeMs > DAY_MS) rmSync(path, { recursive: true })
  }
}

function requireRoom(data: string, directory: string): void {
  const needed = databaseNames
    .map((name) => statSync(join(data, name), { throwIfNoEntry: false })?.size ?? 0)
    .reduce((sum, size) => sum + size, RESERVE_BYTES)
  const { bavail, bsize } = statfsSync(directory)
  if (bavail * bsize >= needed) return
  const megabytes = (bytes: number) => `${Math.ceil(bytes / 1e6)} MB`
  throw new Error(
    `not enough space for a backup in ${directory}: ${megabytes(bavail * bsize)} free, ${megabytes(needed)} needed`,
  )
}
