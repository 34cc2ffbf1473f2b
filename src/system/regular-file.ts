/** Reads a file that an operator names, and refuses what might never end: a pipe, a terminal, a device. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'

/** An empty file by convention: `NCP_CONFIG=/dev/null` means no configuration. */
const EMPTY = '/dev/null'

/**
 * The panel reads such files again while it serves. A pipe, such as `<(command)` of a shell, has its content once, and would then
 * stop the whole process.
 *
 * @throws Error of the system, with a code; without one for what is not a regular file
 */
export function readRegularFile(path: string): string {
  // Opening a pipe without a writer would wait for one.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const found = fstatSync(file)
    // Reading a directory fails by itself, with its own code.
    if (!found.isFile() && !found.isDirectory() && path !== EMPTY) throw new Error(`${path} is not a regular file`)
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}
