/** The index of SQLite's log, in the memory that SQLite shares with every process: what was committed, and how much of it waits. */
import type { Database } from 'bun:sqlite'
import { realpathSync } from 'node:fs'
import { mapFile } from '../../../system/mapped-file.ts'
import { openFile } from '../../../system/open-files.ts'

/**
 * Two copies of a header of 48 bytes, then how many frames are in the database file:
 * https://www.sqlite.org/walformat.html#the_wal_index_header
 */
const INTEGERS = 25
const HEADER_INTEGERS = 24
const LAST_FRAME = 4
const FRAMES_MOVED = 24

export type WalIndex = {
  /** Moves at every commit of any process. */
  version(): number
  /** Pages in the log, as of the last commit. */
  frames(): number
  /** How many of them SQLite takes to be in the database file. */
  moved(): number
  /** Pages in the log that are not in the database file yet. */
  backlog(): number
}

/**
 * It is mapped through SQLite's own descriptor, because closing another one of the same file would drop the locks that SQLite
 * holds on it (https://www.sqlite.org/howtocorrupt.html, section 2.2).
 *
 * @param path a database file that this process has read in WAL mode, and keeps open as long as the index is asked
 * @returns undefined where the system doesn't tell which files are open, or has no C library that we know
 */
export function mapWalIndex(path: string): WalIndex | undefined {
  const index = mapIntegers(`${realpathSync(path)}-shm`)
  if (index === undefined) return undefined
  const seen = new Int32Array(HEADER_INTEGERS)
  let version = 0
  return {
    version() {
      // Half a header, while a commit is writing it, differs as well.
      for (let i = 0; i < HEADER_INTEGERS; i++) {
        if (index[i] === seen[i]) continue
        seen.set(index.subarray(0, HEADER_INTEGERS))
        version++
        break
      }
      return version
    },
    frames: () => index[LAST_FRAME] ?? 0,
    moved: () => index[FRAMES_MOVED] ?? 0,
    backlog: () => (index[LAST_FRAME] ?? 0) - (index[FRAMES_MOVED] ?? 0),
  }
}

function mapIntegers(path: string): Int32Array | undefined {
  const descriptor = openFile(path)
  if (descriptor === undefined) return undefined
  try {
    return new Int32Array(mapFile(descriptor, INTEGERS * Int32Array.BYTES_PER_ELEMENT))
  } catch {
    return undefined
  }
}

/**
 * Makes the function that reads a version. It moves at every commit of any process.
 *
 * `PRAGMA data_version` begins and ends a read transaction, three system calls, to compare the header of the index with the
 * one it saw last: every commit writes it, with a counter and a checksum, before it is acknowledged. The same comparison
 * needs none.
 *
 * @param reader a connection that stays open as long as the function is called
 */
export function createDataVersion(reader: Database, index: WalIndex | undefined): () => number {
  if (index) return index.version
  const version = reader.prepare<{ data_version: number }, []>('PRAGMA data_version')
  return () => version.get()?.data_version ?? -1
}
