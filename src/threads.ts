/** Where the program's threads and its children begin. At the top and not beside them: in the binary everything is one file there, but for these. */
import { execPath } from 'node:process'
import { fileURLToPath } from 'node:url'

export const BACKUP_THREAD = new URL('./backup/worker.ts', import.meta.url)
export const DISK_THREAD = new URL('./db/sqlite/fast/disk-worker.ts', import.meta.url)
/** This program as a command, from source too. */
export const PROGRAM: readonly [string, ...string[]] = Bun.isStandaloneExecutable
  ? [execPath]
  : [execPath, fileURLToPath(new URL('./main.ts', import.meta.url))]
