/** The database behind two words, `read` and `write`. Nothing above this file knows that it is SQLite. */
import { Database } from 'bun:sqlite'
import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { type BunSQLiteDatabase, drizzle } from 'drizzle-orm/bun-sqlite'
import { closeAll } from '../core/close-all.ts'
import type { Durations } from '../core/durations.ts'
import { codeOf } from '../core/error-code.ts'
import type { Log } from '../log/log.ts'
import { explainOpening, isFailedSync, LostDiskError } from './failures.ts'
import { createCheckpointPace } from './sqlite/checkpoint-pace.ts'
import { openForWriting } from './sqlite/connection.ts'
import { isAlone, shareDirectory } from './sqlite/data-lock.ts'
import { createDiskTrust } from './sqlite/disk-trust.ts'
import { createDiskThread } from './sqlite/fast/disk-thread.ts'
import { createDataVersion } from './sqlite/fast/wal-index.ts'
import { migrate } from './sqlite/migrate.ts'
import { watchPlaces } from './sqlite/placed-files.ts'
import { countBacklog, moveLog, proveLog } from './sqlite/proof.ts'
import { createWriter } from './sqlite/writer.ts'
import * as tables from './tables.ts'

/** A connection or a transaction, with Drizzle's query builder. Always `await` its queries. */
export type Queries = BunSQLiteDatabase<typeof tables>

export type Store = {
  /** A read-only connection. */
  read: Queries
  /**
   * Runs `work` in one transaction, one at a time: committed and durable when the promise resolves, rolled back when
   * `work` throws. `work` awaits queries of its transaction and nothing else, for everyone else waits meanwhile.
   *
   * Also what it throws, and what it tells without a change, is given once the commits that it may rest on are durable.
   *
   * @throws AppError `unavailable` after five seconds behind another process, at once where too many wait already, and
   * when the disk does not keep what is written
   */
  write<T>(work: (tx: Queries) => Promise<T>): Promise<T>
  /**
   * As `write`, and a hundred times quicker: a crash of the program takes nothing of it, a power cut may take it all. For
   * what nobody was promised, such as counts of attempts and times of use.
   */
  writeSoon<T>(work: (tx: Queries) => Promise<T>): Promise<T>
  /** @throws AppError `unavailable` when no change is taken */
  requireWritable(): void
  /**
   * Resolves when everything that was committed is durable; undefined when it is already. For an answer that confirms
   * something by what was read.
   *
   * @throws AppError `unavailable`, at once or later, when nothing can be confirmed
   */
  durable(): Promise<void> | undefined
  /** What keeps writes from being confirmed, for strangers too; undefined when nothing does. */
  trouble(): string | undefined
  /** Moves at every commit of any process: what is cached from the store is valid for one version. */
  version(): number
  /** How long writes waited for their turn and for the lock. */
  readonly waits: Durations
  /** Bytes of the files. */
  sizes(): { database: number; wal: number }
  /**
   * Ends after the writes that wait.
   *
   * @throws LostDiskError, with the files as they are: the process must end by `exitAtOnce`
   */
  close(): Promise<void>
}

/** What serves requests reads from a store, and writes through `writeAs` alone. */
export type ReadStore = Pick<Store, 'read' | 'version'>

/**
 * Told, at the end of a transaction and within it, what was created: neither is there without the other.
 *
 * @throws what the transaction must be rolled back for
 */
export type Conclude<Result> = (tx: Queries, result: Result) => Promise<void>

export type StoreOptions = {
  /** Whether there may be none yet: an installation that lost its database must not get an empty one. */
  isNew?: boolean
  /** Whether it is the one panel on the data directory, and no command beside it. */
  isPanel?: boolean
  /** Where `disk-worker.ts` is, while others are to be served; without it, writing waits for the disk and stops everything. */
  diskThread?: URL
  log?: Log
  /** Told when the disk does not keep what is written: the process has to end by `exitAtOnce`. */
  onLost?(error: LostDiskError): void
}

const noLog: Log = { info: () => undefined, warn: () => undefined, error: () => undefined }

/**
 * Opens the database file, making and migrating it where needed.
 *
 * @param path a file in a directory that exists; it gets mode 0600
 * @param nowMs the time to record for migrations
 * @throws Error when the file is newer than this program, damaged or locked, while a backup is being restored, or when a second
 * panel is opened
 */
export function openStore(path: string, nowMs: number, options: StoreOptions = {}): Store {
  const { isNew = true, isPanel = false } = options
  let release: (() => void) | undefined
  try {
    // A log that nobody has open was left by a process that could not close it: nobody knows how much of it is on the disk.
    const isLeft = sizeOf(`${path}-wal`) > 0 && isAlone(dirname(path))
    release = shareDirectory(dirname(path), { isPanel })
    if (!isNew && sizeOf(path) === 0) {
      throw new Error(`${path} is gone, or empty: restore a backup with 'ncp backup restore'`)
    }
    return open(path, nowMs, { ...options, release, isLogDoubted: isLeft || isPanel })
  } catch (error) {
    release?.()
    throw explainOpening(error, path)
  }
}

type OpenOptions = StoreOptions & {
  /** Gives the directory back. */
  release(): void
  isLogDoubted: boolean
}

function open(path: string, nowMs: number, options: OpenOptions): Store {
  const { release, isLogDoubted, diskThread, log = noLog, onLost = () => undefined } = options
  // SQLite would make the file 0644; its WAL and shared-memory files take the mode of the database file.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  chmodSync(path, 0o600)

  const { database, walIndex, log: logFile } = openForWriting(path, { isLogDoubted })
  migrate(database, { path, nowMs })
  database.run('PRAGMA foreign_keys = ON')
  // SQLite would wait for a foreign lock on the event loop and stop everything; the writer waits beside it.
  database.run('PRAGMA busy_timeout = 0')

  const reader = new Database(path, { readonly: true, strict: true })
  reader.run('PRAGMA busy_timeout = 5000')
  reader.query('SELECT 1 FROM schema_migrations').get()
  const version = createDataVersion(reader, walIndex)

  const pace = createCheckpointPace(walIndex?.backlog ?? (() => countBacklog(database)))
  const files = watchPlaces(path, reader, log)
  const trust = createDiskTrust({
    path,
    log,
    onLost,
    async prove(isDoubted) {
      await disk?.pause()
      if (!walIndex || logFile === undefined) throw new Error('this system does not let the log be written anew')
      let moved = 0
      await writer.alone(async () => {
        moved = walIndex.moved()
        await proveLog(logFile, walIndex)
      })
      const isWhole = moveLog(database)
      // SQLite takes those pages to be in the file, and does not write them again.
      if (isDoubted('database') && (moved > 0 || !isWhole)) throw new Error('some pages cannot be written anew')
      disk?.trust()
    },
  })
  const disk =
    diskThread && walIndex && logFile !== undefined
      ? createDiskThread({ thread: diskThread, files: { database: path, log: logFile }, pace, onDoubt: trust.doubt })
      : undefined
  const writer = createWriter({
    database,
    tx: drizzle(database, { schema: tables }),
    log: logFile,
    disk,
    pace,
    trust,
    files,
    version,
  })

  /** @returns why it could not */
  function moveAtEnd(): unknown {
    // Another log, or another database, may be there by now.
    if (!files.areInPlace()) return undefined
    try {
      moveLog(database)
      return undefined
    } catch (error) {
      return isFailedSync(error) ? new LostDiskError(path, error) : error
    }
  }

  return {
    read: drizzle(reader, { schema: tables }),
    write: writer.write,
    writeSoon: writer.writeSoon,
    requireWritable: writer.requireUsable,
    durable: writer.durable,
    trouble() {
      if (trust.isDoubted()) return 'is on a disk that failed to keep a change'
      return files.areInPlace() ? undefined : 'files were moved, deleted or replaced'
    },
    version,
    waits: writer.waits,
    sizes: () => ({ database: sizeOf(path), wal: sizeOf(`${path}-wal`) }),
    async close() {
      await writer.idle()
      await trust.settled()
      const lost = trust.lost()
      if (lost) throw lost
      await disk?.stop()
      // Into the database file, so that a copy of it alone is whole.
      const unmoved = moveAtEnd()
      // SQLite would do it once more, and succeed with what the first sync has lost.
      if (unmoved instanceof LostDiskError) throw unmoved
      await closeAll([
        () => {
          if (unmoved !== undefined) throw unmoved
        },
        () => reader.close(),
        () => database.close(),
        release,
      ])
    },
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

/** Whether a query failed because a unique index already holds the value. */
export function isUniqueViolation(error: unknown): boolean {
  const code = codeOf(error)
  return code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY'
}
