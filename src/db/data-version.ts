/** Tells whether anything was committed, at the price of reading memory. */
import type { Database } from 'bun:sqlite'
import { readdirSync, readlinkSync, realpathSync } from 'node:fs'
import { mapFile } from '../system/mapped-file.ts'

/** Both copies of the header at the beginning of a WAL index: https://www.sqlite.org/walformat.html#the_wal_index_header */
const HEADER_BYTES = 96
const OPEN_FILES = '/proc/self/fd'

/**
 * Makes the function that reads a version. It moves at every commit of any process.
 *
 * `PRAGMA data_version` begins and ends a read transaction, three system calls, to compare the header of the WAL index with
 * the one it saw last: every commit writes it, with a counter and a checksum, before it is acknowledged. The same
 * comparison needs none, since SQLite itself shares the index with other processes as mapped memory. It is mapped through
 * SQLite's own descriptor, because closing another one of the same file would drop the locks that SQLite holds on it
 * (https://www.sqlite.org/howtocorrupt.html, section 2.2).
 *
 * @param reader a connection that has read in WAL mode, and stays open as long as the function is called
 * @param path the database file
 */
export function createDataVersion(reader: Database, path: string): () => number {
  const header = mapHeader(`${realpathSync(path)}-shm`)
  if (header === undefined) {
    const version = reader.prepare<{ data_version: number }, []>('PRAGMA data_version')
    return () => version.get()?.data_version ?? -1
  }
  const seen = new Int32Array(header.length)
  let version = 0
  return () => {
    // Half a header, while a commit is writing it, differs as well.
    for (let i = 0; i < seen.length; i++) {
      if (header[i] === seen[i]) continue
      seen.set(header)
      version++
      break
    }
    return version
  }
}

/** @returns undefined where the system doesn't tell which files are open, or has no C library that we know */
function mapHeader(path: string): Int32Array | undefined {
  const descriptor = openFile(path)
  if (descriptor === undefined) return undefined
  try {
    return new Int32Array(mapFile(descriptor, HEADER_BYTES))
  } catch {
    return undefined
  }
}

/** @returns the descriptor of a file that this process has open; undefined also where the system doesn't tell */
function openFile(path: string): number | undefined {
  try {
    return readdirSync(OPEN_FILES)
      .map(Number)
      .find((descriptor) => pathOf(descriptor) === path)
  } catch {
    return undefined
  }
}

function pathOf(descriptor: number): string | undefined {
  try {
    return readlinkSync(`${OPEN_FILES}/${descriptor}`)
  } catch {
    // The one with which the folder was read is gone.
    return undefined
  }
}
