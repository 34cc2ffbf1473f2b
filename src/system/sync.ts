/** Waits until what was written is on the disk. */
import { closeSync, fsyncSync, openSync } from 'node:fs'

/** @param path of a file, or of a directory, whose names it is about then. @throws Error of the system */
export function sync(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
