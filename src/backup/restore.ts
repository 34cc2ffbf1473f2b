/** Puts a backup into a data directory; what was there before is kept beside it. */
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { RESTORE_MARK, seizeDirectory } from '../db/data-lock.ts'
import { type Backup, backupName } from './catalogue.ts'
import { companionFiles, copyPrivately, DATABASE, DATABASE_COMPANIONS, sync } from './files.ts'
import { verifyBackup } from './verify.ts'

export type RestoreOptions = {
  backup: Backup
  /** The data directory; made with mode 0700 where it is not there. */
  data: string
  /** Milliseconds since the epoch. */
  nowMs: number
}

/**
 * A crash in the middle leaves a mark, with which no panel starts until a restore has come to its end.
 *
 * @returns where the files are that were there before; undefined where there were none
 * @throws Error when the backup is not whole, or while a panel or a command is at work
 */
export async function restoreBackup({ backup, data, nowMs }: RestoreOptions): Promise<string | undefined> {
  const problems = await verifyBackup(backup)
  if (problems.length > 0) throw new Error(`${backup.path} can't be restored: ${problems.join('; ')}`)
  mkdirSync(data, { recursive: true, mode: 0o700 })
  const release = seizeDirectory(data)
  if (!release) throw new Error(`a panel or a command is at work on ${data}; stop it first`)
  try {
    return replaceFiles(backup, data, backupName(nowMs))
  } finally {
    release()
  }
}

function replaceFiles({ path, manifest }: Backup, data: string, name: string): string | undefined {
  const inData = (...names: string[]) => join(data, ...names)
  const staged = `restoring-${name}`
  const aside = `before-restore-${name}`
  const files = manifest.files.map((file) => file.path)
  // All of it on this disk first: from then on nothing but names changes.
  for (const file of files) copyPrivately(join(path, file), inData(staged, file))

  writeFileSync(inData(RESTORE_MARK), `${path}\n`, { mode: 0o600, flush: true })
  sync(data)
  // The log belongs to the old database: SQLite would play it into the new one.
  const present = [DATABASE, ...DATABASE_COMPANIONS].filter((file) => existsSync(inData(file)))
  const old = [...present, ...companionFiles(data)]
  for (const file of old) move(inData(file), inData(aside, file))
  for (const file of files) move(inData(staged, file), inData(file))
  rmSync(inData(staged), { recursive: true })
  for (const directory of new Set(files.map((file) => dirname(inData(file))))) sync(directory)
  if (old.length > 0) sync(inData(aside))
  sync(data)
  rmSync(inData(RESTORE_MARK))
  sync(data)
  return old.length > 0 ? inData(aside) : undefined
}

function move(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 })
  renameSync(from, to)
}
