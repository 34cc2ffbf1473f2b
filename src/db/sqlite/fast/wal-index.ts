/** The index of SQLite's log, read without system calls from the memory that SQLite shares between processes. */
import { realpathSync } from 'node:fs'
import { mapFile } from '../../../system/mapped-file.ts'
import { openFile } from '../../../system/open-files.ts'
import type { WalIndex } from '../wal-index.ts'

/**
 * Two copies of a 48-byte header, then the number of frames already in the database file:
 * https://www.sqlite.org/walformat.html#the_wal_index_header
 */
const INTEGERS = 25
const HEADER_INTEGERS = 24
const LAST_FRAME = 4
const FRAMES_MOVED = 24

/**
 * Every commit writes the header, with a counter and a checksum, before it is acknowledged. `PRAGMA data_version`
 * compares the same bytes, but inside a read transaction of three system calls.
 *
 * The file is mapped through SQLite's own descriptor: closing another one of the same file would drop the locks that
 * SQLite holds on it (https://www.sqlite.org/howtocorrupt.html, section 2.2).
 *
 * @param path a database file that this process has read in WAL mode and keeps open while the index is in use
 * @returns undefined if the system does not show which files are open, or has no C library that we know
 */
export function mapWalIndex(path: string): WalIndex | undefined {
  const index = mapIntegers(`${realpathSync(path)}-shm`)
  if (index === undefined) return undefined
  const seen = new Int32Array(HEADER_INTEGERS)
  let version = 0
  return {
    version() {
      // Half a header, read while a commit writes it, differs as well.
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
