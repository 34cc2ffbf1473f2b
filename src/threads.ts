/** Where the program's threads begin. At the top and not beside them: in the binary everything is one file there, but for these. */

export const BACKUP_THREAD = new URL('./backup/worker.ts', import.meta.url)
export const DISK_THREAD = new URL('./db/sqlite/fast/disk-worker.ts', import.meta.url)
