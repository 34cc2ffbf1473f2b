/** Who may use a data directory: any number of panels and commands at once, or one restore alone. */
import { Database } from 'bun:sqlite'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { dataNames } from '../../data-directory.ts'

/** What the mark of a restore holds that is under way, or was interrupted. */
export type RestoreMark = {
  /** The directory of the backup. */
  backup: string
  /** The name of the directory, in the data directory, for what was there before. */
  aside: string
  /** What belongs there, as paths below the data directory. */
  old: string[]
}

/** Milliseconds: for the moment in which another process only asks whether it is alone. */
const WAIT_TO_SHARE = 'PRAGMA busy_timeout = 1000'

/**
 * Holds the directory as one of many.
 *
 * @param options.isPanel as the one panel: commands may come beside it, and another panel may not
 * @returns what gives it back
 * @throws Error while a restore holds it, when one did not finish, or when a panel is there already
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

/** SQLite's lock of the one that means to write, beside any number that read. */
function takePanel(database: Database): void {
  // There would be a file for it.
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

/** Whether no panel and no command is at work in the directory right now. */
export function isAlone(directory: string): boolean {
  const release = seizeDirectory(directory)
  release?.()
  return release !== undefined
}

/** @throws Error when a restore did not come to its end: what is there belongs to two installations */
export function requireWhole(directory: string): void {
  const unfinished = readRestoreMark(directory)
  if (!unfinished) return
  throw new Error(
    `a restore of ${unfinished.backup} into ${directory} was interrupted; run 'ncp backup restore' again, with that backup or another one`,
  )
}

/** @returns undefined where no restore is under way, and none was left unfinished */
export function readRestoreMark(directory: string): RestoreMark | undefined {
  const path = join(directory, dataNames.restoreMark)
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined
}

/**
 * Holds the directory alone.
 *
 * @returns what gives it back; undefined while a panel or a command is at work in it
 */
export function seizeDirectory(directory: string): (() => void) | undefined {
  return lock(directory, (database) => database.run('BEGIN EXCLUSIVE'))
}

/**
 * The lock of an empty SQLite file: the kernel's, gone with the process however that ends, and the same on every system,
 * while `flock` is not to be had without foreign code.
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
