/** Directories for tests in process: in memory where there is room, since a disk's syncs would take much of a run's time. */
import { accessSync, constants, mkdtempSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LIMITS } from '../../src/features/hosting/deployments/limits.ts'

const MEMORY = '/dev/shm'
/** Far above what the tests write, and what an upload leaves free; a container's own `/dev/shm` is often 64 MB. */
const ROOM_BYTES = 2048 * 1024 * 1024

const parent = hasRoom() ? MEMORY : tmpdir()

function hasRoom(): boolean {
  try {
    accessSync(MEMORY, constants.W_OK)
    return freeBytesOf(MEMORY) >= ROOM_BYTES
  } catch {
    return false
  }
}

/** A new, empty directory. The test that makes it removes it. */
export const newDirectory = (prefix = 'ncp-test-'): string => mkdtempSync(join(parent, prefix))

const MEBIBYTE = 1024 * 1024

/**
 * For tests that upload archives, before they do: without this much room the panel refuses each of them with 503.
 *
 * @param directory where the panel keeps its data
 * @param bytes of all archives that are uploaded at a time
 * @throws Error that says how much is missing, and where
 */
export function requireUploadRoom(directory: string, bytes = 64 * MEBIBYTE): void {
  const neededBytes = LIMITS.freeBytes + 1.1 * bytes
  const freeBytes = freeBytesOf(directory)
  if (freeBytes >= neededBytes) return
  const inMebibytes = (count: number) => Math.ceil(count / MEBIBYTE)
  throw new Error(
    `tests of uploads need ${inMebibytes(neededBytes)} MiB free, and ${directory} has ${inMebibytes(freeBytes)}: make room, or set TMPDIR`,
  )
}

function freeBytesOf(directory: string): number {
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize
}
