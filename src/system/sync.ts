/** Waits until what was written is on the disk. */
import { closeSync, constants, fsyncSync, openSync } from 'node:fs'
import { open } from 'node:fs/promises'

/** @param path of a file, or of a directory, whose names it is about then. @throws Error of the system */
export function sync(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** The same without holding up the event loop. @param flags to open it with. @throws Error of the system */
export async function syncAside(path: string, flags = constants.O_RDONLY): Promise<void> {
  const file = await open(path, flags)
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
