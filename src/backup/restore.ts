/** Restores a backup into a data directory; the previous files are kept in it. */
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { databaseNames, dataNames } from '../data-directory.ts'
import { type RestoreMark, readRestoreMark, seizeDirectory } from '../db/sqlite/data-lock.ts'
import { sync } from '../system/sync.ts'
import { type Backup, backupName } from './catalogue.ts'
import { companionFiles, copyPrivately } from './files.ts'
import { type TellProgress, untold } from './progress.ts'
import { type AuditProof, type Sealed, verifyBackup } from './verify.ts'

export type RestoreOptions = {
  backup: Backup
  /** The data directory; made with mode 0700 where it is not there. */
  data: string
  /** Milliseconds since the epoch. */
  nowMs: number
  proveAudit: AuditProof
  tell?: TellProgress
}

/**
 * A crash in the middle leaves a mark, with which no panel starts until a restore is finished. That may be of another
 * backup: it sets aside what the one before has not, and drops what that has put in place.
 *
 * @returns where the files are that were there before; undefined where there were none
 * @throws Error when the backup is not whole, or while a panel or a command is at work
 */
export async function restoreBackup(options: RestoreOptions): Promise<string | undefined> {
  const { backup, data, nowMs, proveAudit, tell = untold } = options
  const refuseUnless = async (place: Sealed) => {
    const problems = await verifyBackup(place, proveAudit, tell)
    if (problems.length > 0) throw new Error(`${backup.path} cannot be restored: ${problems.join('; ')}`)
  }
  await refuseUnless(backup)
  mkdirSync(data, { recursive: true, mode: 0o700 })
  const release = seizeDirectory(data)
  if (!release) throw new Error(`a panel or another command is using ${data}; stop it first`)
  try {
    tell('Copying the files')
    await stage(backup, join(data, dataNames.restoring), refuseUnless)
    return replaceFiles(backup, data, backupName(nowMs))
  } finally {
    release()
  }
}

function replaceFiles({ path, manifest }: Backup, data: string, name: string): string | undefined {
  const inData = (...names: string[]) => join(data, ...names)
  const files = manifest.files.map((file) => file.path)
  const { aside, old } = readRestoreMark(data) ?? { aside: `before-restore-${name}`, old: filesIn(data) }
  mark(data, { backup: resolve(path), aside, old })
  setAside(old, data, inData(aside))
  // Of an interrupted restore.
  for (const file of filesIn(data)) rmSync(inData(file))
  for (const file of files) move(inData(dataNames.restoring, file), inData(file))
  rmSync(inData(dataNames.restoring), { recursive: true })
  syncNames(data, files)
  rmSync(inData(dataNames.restoreMark))
  sync(data)
  return old.length > 0 ? inData(aside) : undefined
}

/**
 * All of it on this disk first: from then on nothing but names changes. The copy is checked again, since the backup may have
 * changed after its own check.
 */
async function stage({ path, manifest }: Backup, to: string, check: (copy: Sealed) => Promise<void>): Promise<void> {
  rmSync(to, { recursive: true, force: true })
  try {
    for (const file of manifest.files) copyPrivately(join(path, file.path), join(to, file.path))
    await check({ path: to, manifest })
  } catch (error) {
    // A disk that is full needs its room.
    rmSync(to, { recursive: true, force: true })
    throw error
  }
}

/** At once, so that there is never half a mark. */
function mark(data: string, content: RestoreMark): void {
  const unfinished = join(data, `${dataNames.restoreMark}.new`)
  writeFileSync(unfinished, JSON.stringify(content), { mode: 0o600, flush: true })
  renameSync(unfinished, join(data, dataNames.restoreMark))
  sync(data)
}

/**
 * What a restore replaces. A log of the old database SQLite would play into the new one, and the epoch would tell nodes
 * that nothing has happened.
 */
function filesIn(data: string): string[] {
  const names = [...databaseNames, dataNames.nodeEpoch]
  return [...names.filter((file) => existsSync(join(data, file))), ...companionFiles(data)]
}

/** None of the new ones comes into place before all of these are out of it. */
function setAside(old: string[], data: string, aside: string): void {
  // Without those that a restore before has set aside, wherever they are by now.
  const left = old.filter((file) => existsSync(join(data, file)) && !existsSync(join(aside, file)))
  for (const file of left) move(join(data, file), join(aside, file))
  syncNames(aside, old)
  syncNames(data, old)
}

function move(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 })
  renameSync(from, to)
}

/** Waits until the names of files, below one directory, are on the disk, and those that are gone are off it. */
function syncNames(directory: string, files: string[]): void {
  for (const path of new Set(files.map((file) => dirname(join(directory, file))))) if (existsSync(path)) sync(path)
}
