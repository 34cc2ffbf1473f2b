/** The thread behind `disk-thread.ts`. */
import { Database } from 'bun:sqlite'
import { fdatasyncSync } from 'node:fs'
import type { DiskAnswer, DiskFiles, DiskJob, Doubt } from './disk-thread.ts'

/** Pages. A log of this length has had no pause in which all of it could be moved, so writes wait while it is moved. */
const LONG_LOG = 4000

declare const self: Worker

let files: DiskFiles
let database: Database
/** The file that a failure right now would put in doubt. */
let doubt: Doubt | undefined

function start(given: DiskFiles): void {
  files = given
  database = new Database(files.database, { readwrite: true, create: false })
  // No caller waits for this: what blocks now will not block next time.
  database.run('PRAGMA busy_timeout = 0')
}

function syncLog(): void {
  doubt = 'log'
  fdatasyncSync(files.log)
  doubt = undefined
}

const jobs: Record<DiskJob, () => void> = {
  sync: syncLog,
  checkpoint() {
    // SQLite syncs it as well, but would not say which of its two files a failed sync concerned.
    syncLog()
    const moved = database.query<{ log: number }, []>('PRAGMA wal_checkpoint(PASSIVE)').get()
    if (moved && moved.log > LONG_LOG) database.run('PRAGMA wal_checkpoint(FULL)')
  },
  end: () => database.close(),
}

self.onmessage = ({ data }: MessageEvent<DiskFiles | DiskJob>) => {
  const answer: DiskAnswer = { done: typeof data === 'string' ? data : 'start' }
  try {
    if (typeof data !== 'string') start(data)
    else jobs[data]()
  } catch (error) {
    const { message, code = '' } = error as NodeJS.ErrnoException
    if (code === 'SQLITE_IOERR_FSYNC') doubt ??= 'database'
    answer.failure = { message, code, doubt }
    doubt = undefined
  }
  self.postMessage(answer)
}
