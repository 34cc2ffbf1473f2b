/** Directories for tests in process: in memory where there is room, since a disk's syncs would take much of a run's time. */
import { accessSync, constants, mkdtempSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
/** Far above what the tests write, and what an upload leaves free; a container's own `/dev/shm` is often 64 MB. */
const ROOM_BYTES = 2048 * 1024 * 1024

const parent = hasRoom() ? MEMORY : tmpdir()

function hasRoom(): boolean {
  try {
    accessSync(MEMORY, constants.W_OK)
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize >= ROOM_BYTES
  } catch {
    return false
  }
}

/** A new, empty directory. The test that makes it removes it. */
export const newDirectory = (prefix = 'ncp-test-'): string => mkdtempSync(join(parent, prefix))
