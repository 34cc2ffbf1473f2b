/** Keeps a directory to one process at a time. flock(2): the kernel drops the lock however the process ends. Linux only. */
import { closeSync, constants, openSync } from 'node:fs'
import { libc } from './libc.ts'

const LOCK_EX = 2
const LOCK_NB = 4

/**
 * @param path a directory that nobody else can open: whoever can open it can lock it
 * @returns a function that releases it; undefined while another process has it
 * @throws Error where there is no such directory
 */
export function lockDirectory(path: string): (() => void) | undefined {
  // Bun opens it so that no child inherits it, and holds the lock beyond its parent's end.
  const directory = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY)
  if (libc().flock(directory, LOCK_EX | LOCK_NB) === 0) return () => closeSync(directory)
  closeSync(directory)
  return undefined
}
