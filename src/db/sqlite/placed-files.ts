/** Whether the database files are still where they were opened: writes to a deleted file are lost at the next start. */
import type { Database } from 'bun:sqlite'
import { chmodSync, statSync } from 'node:fs'
import type { Log } from '../../log/log.ts'
import { writesStopped } from '../failures.ts'

const SUFFIXES = ['', '-wal', '-shm']

export type PlacedFiles = {
  /**
   * Looks, with three system calls.
   *
   * @throws AppError `unavailable` when a file is gone or has been replaced
   */
  look(): void
  /** Goes by the last look. @throws AppError `unavailable` */
  require(): void
  /** Looks too. */
  areInPlace(): boolean
}

/**
 * @param path of a database that this process has open in WAL mode. While it does, no other file gets the number of
 * one of its files, and SQLite itself never replaces one
 * @param reader a connection opened earlier, through which everything that the files in place lack is saved
 */
export function watchPlaces(path: string, reader: Database, log: Log): PlacedFiles {
  const opened = SUFFIXES.map((suffix) => ({ path: `${path}${suffix}`, place: placeOf(`${path}${suffix}`) }))
  let problem: Error | undefined

  function missing(): string[] {
    return opened.flatMap((file) => {
      const found = placeOf(file.path)
      if (!found) return [`${file.path} is gone`]
      return found.dev === file.place?.dev && found.ino === file.place.ino ? [] : [`${file.path} is another file`]
    })
  }

  function stop(what: string[]): void {
    problem = new Error(what.join('; '))
    const saved = save(reader, `${path}.saved`)
    log.error(
      { problems: what, ...saved },
      'the database files were moved, deleted or replaced while the panel is running, so no change is accepted. Stop the panel. If this entry has `saved`, that file holds every confirmed change: put it in place of the database, delete the -wal and -shm files, and start the panel',
    )
  }

  function require(): void {
    if (problem) throw writesStopped(problem)
  }

  function areInPlace(): boolean {
    if (problem) return false
    const what = missing()
    if (what.length > 0) stop(what)
    return what.length === 0
  }

  return {
    look() {
      areInPlace()
      require()
    },
    require,
    areInPlace,
  }
}

/** The files are still open, and complete while they are. */
function save(reader: Database, to: string): { saved: string } | { notSaved: string } {
  try {
    reader.query('VACUUM INTO ?').run(to)
    chmodSync(to, 0o600)
    return { saved: to }
  } catch (error) {
    return { notSaved: (error as Error).message }
  }
}

function placeOf(path: string): { dev: number; ino: number } | undefined {
  return statSync(path, { throwIfNoEntry: false })
}
