/** The thread behind `disk-thread.ts`. */
import { Database } from 'bun:sqlite'
import { fdatasyncSync } from 'node:fs'
import type { DiskAnswer, DiskFiles, DiskJob } from './disk-thread.ts'

/** Pages. A log that grew so long has had no pause in which all of it could be moved: then nobody writes meanwhile. */
const LONG_LOG = 4000

declare const self: Worker

let files: DiskFiles
let database: Database

function start(given: DiskFiles): void {
  files = given
  database = new Database(files.database, { readwrite: true, create: false })
  // Nobody is made to wait: what is in the way now is not the next time.
  database.run('PRAGMA busy_timeout = 0')
}

const PASSIVE = 'PRAGMA wal_checkpoint(PASSIVE)'
const FULL = 'PRAGMA wal_checkpoint(FULL)'

/** @returns pages in the log, and those of them that could not be moved */
function checkpoint(pragma: typeof PASSIVE | typeof FULL): { log: number; left: number } {
  const row = database.query<{ log: number; checkpointed: number }, []>(pragma).get()
  const { log = 0, checkpointed = 0 } = row ?? {}
  return { log, left: log - checkpointed }
}

const jobs: Record<DiskJob, () => number | undefined> = {
  sync() {
    fdatasyncSync(files.log)
    return undefined
  },
  checkpoint() {
    const { log, left } = checkpoint(PASSIVE)
    return log > LONG_LOG ? checkpoint(FULL).left : left
  },
  end() {
    database.close()
    return undefined
  },
}

self.onmessage = ({ data }: MessageEvent<DiskFiles | DiskJob>) => {
  const answer: DiskAnswer = { done: typeof data === 'string' ? data : 'start' }
  try {
    if (typeof data !== 'string') start(data)
    else answer.left = jobs[data]() ?? 0
  } catch (error) {
    const { message, code = '' } = error as NodeJS.ErrnoException
    answer.failure = { message, code }
  }
  self.postMessage(answer)
}
