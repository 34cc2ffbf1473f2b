/** The files that this process has open. */
import { readdirSync, readlinkSync } from 'node:fs'

const OPEN_FILES = '/proc/self/fd'

/** @throws Error where the system doesn't tell */
export function openDescriptors(): number[] {
  return readdirSync(OPEN_FILES).map(Number)
}

/**
 * @param path without symbolic links
 * @returns the descriptor of a file that this process has open; undefined also where the system doesn't tell
 */
export function openFile(path: string): number | undefined {
  try {
    return openDescriptors().find((descriptor) => pathOf(descriptor) === path)
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
