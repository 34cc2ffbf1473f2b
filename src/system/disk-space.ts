/** Free space on the disk of the data directory, for readiness and startup. */
import { statfs } from 'node:fs/promises'

/** Below it a write may fail at any moment: SQLite's log alone grows to 4 MiB between two checkpoints. */
export const FULL_BYTES = 16 * 1024 * 1024
export const NEARLY_FULL_BYTES = 256 * 1024 * 1024

export type DiskSpace = { state: 'enough' | 'nearly full' | 'full'; freeBytes: number }

/** @throws Error of the system */
export async function diskSpace(directory: string): Promise<DiskSpace> {
  const { bavail, bsize } = await statfs(directory)
  const freeBytes = bavail * bsize
  if (freeBytes < FULL_BYTES) return { state: 'full', freeBytes }
  return { state: freeBytes < NEARLY_FULL_BYTES ? 'nearly full' : 'enough', freeBytes }
}
