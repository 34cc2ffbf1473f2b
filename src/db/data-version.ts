/** Tells whether anything was committed, at the price of one system call. */
import type { Database } from 'bun:sqlite'
import { readdirSync, readlinkSync, readSync, realpathSync } from 'node:fs'

/** Both copies of the header at the beginning of a WAL index: https://www.sqlite.org/walformat.html#the_wal_index_header */
const HEADER_BYTES = 96
const OPEN_FILES = '/proc/self/fd'

/**
 * Makes the function that reads a version. It moves at every commit of any process.
 *
 * `PRAGMA data_version` begins and ends a read transaction, three system calls, to compare the header of the WAL index with
 * the one it saw last: every commit writes it, with a counter and a checksum, before it is acknowledged. The same
 * comparison needs one call. It reads through SQLite's own descriptor, because closing another one of the same
 * file would drop the locks that SQLite holds on it (https://www.sqlite.org/howtocorrupt.html, section 2.2).
 *
 * @param reader a connection that has read in WAL mode, and stays open as long as the function is called
 * @param path the database file
 */
export function createDataVersion(reader: Database, path: string): () => number {
  const index = openFile(`${realpathSync(path)}-shm`)
  if (index === undefined) {
    const version = reader.prepare<{ data_version: number }, []>('PRAGMA data_version')
    return () => version.get()?.data_version ?? -1
  }
  const seen = Buffer.alloc(HEADER_BYTES)
  const header = Buffer.alloc(HEADER_BYTES)
  let version = 0
  return () => {
    // Half a header, while a commit is writing it, differs as well; so does what is not there.
    const length = readSync(index, header, 0, HEADER_BYTES, 0)
    if (length < HEADER_BYTES || !header.equals(seen)) {
      header.copy(seen)
      version++
    }
    return version
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
