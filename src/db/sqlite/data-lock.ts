/** Controls who may use a data directory: any number of panels and commands at once, or one restore alone. */
import { Database } from 'bun:sqlite'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { dataNames } from '../../data-directory.ts'

/** What the marker of a running or interrupted restore contains. */
export type RestoreMark = {
  /** The directory of the backup. */
  backup: string
  /** The directory, inside the data directory, for what was there before. */
  aside: string
  /** What belongs in it, as paths below the data directory. */
  old: string[]
}

/** In milliseconds, to outlast another process that is only checking whether it is alone. */
const WAIT_TO_SHARE = 'PRAGMA busy_timeout = 1000'

/**
 * Takes a shared hold of the directory.
 *
 * @param options.isPanel holds it as the only panel: commands may join, another panel may not
 * @returns a function that releases it
 * @throws Error while a restore holds it, after an unfinished restore, or when a panel is already running
 */
export function shareDirectory(directory: string, { isPanel = false } = {}): () => void {
  const release = lock(directory, isPanel ? takePanel : takeShare)
  if (!release) throw new Error(isPanel ? whyNoPanel(directory) : restoring(directory))
  try {
    requireWhole(directory)
    return release
  } catch (error) {
    release()
    throw error
  }
}

function takeShare(database: Database): void {
  database.run(WAIT_TO_SHARE)
  database.run('BEGIN')
  database.query('SELECT count(*) FROM sqlite_schema').get()
}

/** SQLite's lock for an intending writer, which any number of readers can join. */
function takePanel(database: Database): void {
  // Any other mode would create a journal file.
  database.run('PRAGMA journal_mode = MEMORY')
  database.run(WAIT_TO_SHARE)
  database.run('BEGIN IMMEDIATE')
}

function whyNoPanel(directory: string): string {
  const release = lock(directory, takeShare)
  if (!release) return restoring(directory)
  release()
  return `another panel is using ${directory}: stop it first, or give this one its own directory with --data`
}

function restoring(directory: string): string {
  return `a backup is being restored into ${directory}; wait until that is done`
}

/** Whether no panel or command is using the directory right now. */
export function isAlone(directory: string): boolean {
  const release = seizeDirectory(directory)
  release?.()
  return release !== undefined
}

/** @throws Error after an interrupted restore: the directory then holds parts of two installations */
export function requireWhole(directory: string): void {
  const unfinished = readRestoreMark(directory)
  if (!unfinished) return
  throw new Error(
    `a restore of ${unfinished.backup} into ${directory} was interrupted; run 'ncp backup restore' again, with that backup or another one`,
  )
}

/** @returns undefined if no restore is running or unfinished */
export function readRestoreMark(directory: string): RestoreMark | undefined {
  const path = join(directory, dataNames.restoreMark)
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined
}

/**
 * Takes the directory exclusively.
 *
 * @returns a function that releases it; undefined while a panel or a command is using it
 */
export function seizeDirectory(directory: string): (() => void) | undefined {
  return lock(directory, (database) => database.run('BEGIN EXCLUSIVE'))
}

/**
 * Locks an empty SQLite file: the kernel drops the lock however the process ends, and it works alike on every
 * system, while `flock` would need foreign code.
 */
function lock(directory: string, take: (database: Database) => void): (() => void) | undefined {
  const path = join(directory, dataNames.lock)
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  const database = new Database(path, { readwrite: true, create: false })
  try {
    take(database)
    return () => database.close()
  } catch (error) {
    database.close()
    if ((error as { code?: unknown }).code === 'SQLITE_BUSY') return undefined
    throw error
  }
}
