/** The database behind two words, `read` and `write`. Nothing above this file knows that it is SQLite. */
import { Database } from 'bun:sqlite'
import { chmodSync, closeSync, existsSync, openSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { type BunSQLiteDatabase, drizzle } from 'drizzle-orm/bun-sqlite'
import { createDurations, type Durations } from '../core/durations.ts'
import { codeOf } from '../core/error-code.ts'
import { AppError } from '../core/errors.ts'
import { openFile } from '../system/open-files.ts'
import { shareDirectory } from './data-lock.ts'
import { createDiskThread } from './disk-thread.ts'
import { explainOpening } from './failures.ts'
import { migrate } from './migrate.ts'
import * as tables from './tables.ts'
import { createDataVersion, mapWalIndex } from './wal-index.ts'

/** A connection or a transaction, with Drizzle's query builder. Always `await` its queries. */
export type Queries = BunSQLiteDatabase<typeof tables>

/** How long a write waits for another process, such as the command line, to end its own. */
const LOCK_WAIT_MS = 5000
const LOCK_POLL_MS = 10

export type Store = {
  /** A read-only connection. */
  read: Queries
  /**
   * Runs `work` in one transaction, one at a time: committed and durable when the promise resolves, rolled back when
   * `work` throws. `work` awaits queries of its transaction and nothing else, for everyone else waits meanwhile.
   */
  write<T>(work: (tx: Queries) => Promise<T>): Promise<T>
  /**
   * As `write`, and a hundred times quicker: a crash of the program takes nothing of it, a power cut may take it all. For
   * what nobody was promised, such as counts of attempts and times of use.
   */
  writeSoon<T>(work: (tx: Queries) => Promise<T>): Promise<T>
  /** Moves at every commit of any process: what is cached from the store is valid for one version. */
  version(): number
  /** How long writes waited for their turn and for the lock. */
  readonly waits: Durations
  /** Bytes of the files. */
  sizes(): { database: number; wal: number }
  /** Ends after the writes that wait. */
  close(): Promise<void>
}

/** What serves requests reads from a store, and writes through `writeAs` alone. */
export type ReadStore = Pick<Store, 'read' | 'version'>

export type StoreOptions = {
  /** Whether there may be none yet: an installation that lost its database must not get an empty one. */
  isNew?: boolean
  /** Where `disk-worker.ts` is, for who serves others meanwhile; without it, writing waits for the disk and stops everything. */
  diskThread?: URL
}

/**
 * Opens the database file, making and migrating it where needed.
 *
 * @param path a file in a directory that exists; it gets mode 0600
 * @param nowMs the time to record for migrations
 * @throws Error when the file is newer than this program, damaged or locked, or while a backup is being restored
 */
export function openStore(path: string, nowMs: number, { isNew = true, diskThread }: StoreOptions = {}): Store {
  let release: (() => void) | undefined
  try {
    release = shareDirectory(dirname(path))
    if (!isNew && sizeOf(path) === 0) {
      throw new Error(`${path} is gone, or empty: restore a backup with 'ncp backup restore'`)
    }
    return open(path, nowMs, release, diskThread)
  } catch (error) {
    release?.()
    throw explainOpening(error, path)
  }
}

/** @param release gives the directory back */
function open(path: string, nowMs: number, release: () => void, diskThread: URL | undefined): Store {
  // SQLite would make the file 0644; its WAL and shared-memory files take the mode of the database file.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  chmodSync(path, 0o600)

  const writer = new Database(path, { readwrite: true, create: false, strict: true })
  writer.run('PRAGMA busy_timeout = 5000')
  writer.run('PRAGMA journal_mode = WAL')
  // FULL: an acknowledged write survives a power cut.
  writer.run('PRAGMA synchronous = FULL')
  migrate(writer, { path, nowMs })
  writer.run('PRAGMA foreign_keys = ON')
  // SQLite would wait for a foreign lock on the event loop and stop everything; `lockForWriting` waits beside it.
  writer.run('PRAGMA busy_timeout = 0')

  const reader = new Database(path, { readonly: true, strict: true })
  reader.run('PRAGMA busy_timeout = 5000')
  // The WAL index is there from the first read on.
  reader.query('SELECT 1 FROM schema_migrations').get()
  const walIndex = mapWalIndex(path)
  const version = createDataVersion(reader, walIndex)
  const log = openFile(`${realpathSync(path)}-wal`)
  const disk =
    diskThread && walIndex && log !== undefined
      ? createDiskThread(diskThread, { database: path, log }, walIndex.backlog)
      : undefined

  const tx = drizzle(writer, { schema: tables })
  const waits = createDurations()
  let turn: Promise<unknown> = Promise.resolve()

  async function transaction<T>(work: (tx: Queries) => Promise<T>, askedAt: number, isDurable: boolean) {
    const isAside = disk?.isReady() ?? false
    // Neither can be changed within a transaction. FULL: an acknowledged write survives a power cut.
    writer.run(isDurable && !isAside ? 'PRAGMA synchronous = FULL' : 'PRAGMA synchronous = NORMAL')
    // The thread moves the log into the database, SQLite's own way would be within a commit.
    writer.run(isAside ? 'PRAGMA wal_autocheckpoint = 0' : 'PRAGMA wal_autocheckpoint = 1000')
    await lockForWriting(writer)
    waits.add(performance.now() - askedAt)
    const before = version()
    try {
      const result = await work(tx)
      writer.run('COMMIT')
      disk?.checkpoint()
      return { result, synced: isAside && isDurable && version() !== before ? disk?.sync() : undefined }
    } catch (error) {
      // After a full disk, for one, SQLite has already rolled back by itself.
      if (writer.inTransaction) writer.run('ROLLBACK')
      throw error
    }
  }

  async function inTurn<T>(work: (tx: Queries) => Promise<T>, isDurable: boolean): Promise<T> {
    const askedAt = performance.now()
    const done = turn.then(() => transaction(work, askedAt, isDurable))
    // The next may write while this one waits for the disk: others see what it wrote, and nobody is told that it will stay.
    turn = done.catch(() => undefined)
    const { result, synced } = await done
    await synced
    return result
  }

  return {
    read: drizzle(reader, { schema: tables }),
    write: (work) => inTurn(work, true),
    writeSoon: (work) => inTurn(work, false),
    version,
    waits,
    sizes: () => ({ database: sizeOf(path), wal: sizeOf(`${path}-wal`) }),
    async close() {
      await turn
      await disk?.stop()
      reader.close()
      try {
        // Into the database file, so that a copy of it alone is whole.
        writer.run('PRAGMA wal_checkpoint(TRUNCATE)')
      } finally {
        writer.close()
        release()
      }
    },
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

/** @throws AppError `unavailable` when another process keeps the lock */
async function lockForWriting(writer: Database): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += LOCK_POLL_MS) {
    try {
      // IMMEDIATE: a deferred transaction that reads and then writes fails at once, whatever the busy timeout.
      writer.run('BEGIN IMMEDIATE')
      return
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'SQLITE_BUSY') throw error
      if (waitedMs >= LOCK_WAIT_MS) throw new AppError('unavailable', undefined, { 'retry-after': '2' })
      await Bun.sleep(LOCK_POLL_MS)
    }
  }
}

/** Whether a query failed because a unique index already holds the value. */
export function isUniqueViolation(error: unknown): boolean {
  const code = codeOf(error)
  return code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY'
}
