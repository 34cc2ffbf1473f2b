/** Who may use a data directory: any number of panels and commands at once, or one restore alone. */
import { Database } from 'bun:sqlite'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** There while a restore is under way, and after one that did not come to its end; its content is a `RestoreMark`. */
export const RESTORE_MARK = 'restore-unfinished'

export type RestoreMark = {
  /** The directory of the backup. */
  backup: string
  /** The name of the directory, in the data directory, for what was there before. */
  aside: string
  /** What belongs there, as paths below the data directory. */
  old: string[]
}

/**
 * The lock of an empty SQLite file: the kernel's, gone with the process however that ends, and the same on every system,
 * while `flock` is not to be had without foreign code.
 */
const LOCK_FILE = 'ncp.lock'

/**
 * Holds the directory as one of many.
 *
 * @returns what gives it back
 * @throws Error while a restore holds it, or when one did not come to its end
 */
export function shareDirectory(directory: string): () => void {
  const release = lock(directory, (database) => {
    database.run('BEGIN')
    database.query('SELECT count(*) FROM sqlite_schema').get()
  })
  if (!release) throw new Error(`a backup is being restored into ${directory}; wait until that has ended`)
  try {
    requireWhole(directory)
    return release
  } catch (error) {
    release()
    throw error
  }
}

/** @throws Error when a restore did not come to its end: what is there belongs to two installations */
export function requireWhole(directory: string): void {
  const unfinished = readRestoreMark(directory)
  if (!unfinished) return
  throw new Error(
    `a restore of ${unfinished.backup} into ${directory} did not come to its end; run 'ncp backup restore' again, with it or another backup`,
  )
}

/** @returns undefined where no restore is under way, and none was left unfinished */
export function readRestoreMark(directory: string): RestoreMark | undefined {
  const path = join(directory, RESTORE_MARK)
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

function lock(directory: string, take: (database: Database) => void): (() => void) | undefined {
  const path = join(directory, LOCK_FILE)
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
