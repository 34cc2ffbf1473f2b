/** How much the files below a directory take on the disk. */
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { unlessMissing } from '../core/error-code.ts'

export type DiskUse = {
  /** As the file system counts: in whole blocks, directories too. */
  bytes: number
  /** Everything but directories. */
  files: number
}

/** The unit of `st_blocks`, whatever the file system's. */
const BLOCK_BYTES = 512

export const NO_USE: DiskUse = { bytes: 0, files: 0 }

export const addUse = (one: DiskUse, other: DiskUse): DiskUse => ({
  bytes: one.bytes + other.bytes,
  files: one.files + other.files,
})

/** Follows no link. What disappears while it counts is not counted. @throws Error of the system */
export async function diskUse(path: string): Promise<DiskUse> {
  const stat = await unlessMissing(lstat(path))
  if (!stat) return NO_USE
  const own = { bytes: stat.blocks * BLOCK_BYTES, files: stat.isDirectory() ? 0 : 1 }
  if (!stat.isDirectory()) return own
  let sum = own
  for (const name of (await unlessMissing(readdir(path))) ?? []) sum = addUse(sum, await diskUse(join(path, name)))
  return sum
}
