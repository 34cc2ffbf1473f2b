/** Opens a store backed by one SQLite file. */
import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { closeAll } from '../../core/close-all.ts'
import type { Log } from '../../log/log.ts'
import { LostDiskError } from '../failures.ts'
import type { Store } from '../store.ts'
import * as tables from '../tables.ts'
import { createCheckpointPace } from './checkpoint-pace.ts'
import { openConnections } from './connection.ts'
import { isAlone, shareDirectory } from './data-lock.ts'
import { createDiskTrust } from './disk-trust.ts'
import { isFailedSync } from './error-codes.ts'
import { explainOpening } from './explain-opening.ts'
import { createDiskThread } from './fast/disk-thread.ts'
import { migrate } from './migrate.ts'
import { watchPlaces } from './placed-files.ts'
import { moveLog, proveLog } from './proof.ts'
import { createWriter } from './writer.ts'

export type StoreOptions = {
  /** Whether the database may be missing: an installation that lost its database must not get an empty one. */
  isNew?: boolean
  /** Whether this is the one panel on the data directory, not a command beside it. */
  isPanel?: boolean
  /** Location of `disk-worker.ts`, for serving requests; without it, a write blocks everything until it is synced. */
  diskThread?: URL
  /** Whether the WAL index may be read from memory; by default it is. */
  mapsIndex?: boolean
  log?: Log
  /** Called when the disk does not keep what is written: the process has to end by `exitAtOnce`. */
  onLost?(error: LostDiskError): void
}

const noLog: Log = { info: () => undefined, warn: () => undefined, error: () => undefined }

/** SQLite knows the version synchronously. */
export type SqliteStore = Omit<Store, 'version'> & { version(): number }

/**
 * Opens the database file, creating and migrating it if needed.
 *
 * @param path a file in an existing directory; it gets mode 0600
 * @param nowMs the time to record for migrations
 * @throws Error when the file is newer than this program, damaged or locked, while a backup is being restored, or for a
 * second panel
 */
export function openStore(path: string, nowMs: number, options: StoreOptions = {}): SqliteStore {
  const { isNew = true, isPanel = false } = options
  let release: (() => void) | undefined
  try {
    // A log that no process has open was left by one that could not close it: some of it may not be on the disk.
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
  /** Releases the directory. */
  release(): void
  isLogDoubted: boolean
}

function open(path: string, nowMs: number, options: OpenOptions): SqliteStore {
  const { release, isLogDoubted, diskThread, mapsIndex = true, log = noLog, onLost = () => undefined } = options
  // SQLite would make the file 0644; its WAL and shared-memory files take the mode of the database file.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  chmodSync(path, 0o600)

  const { database, reader, walIndex, log: logFile } = openConnections(path, { isLogDoubted, mapsIndex })
  migrate(database, { path, nowMs })
  database.run('PRAGMA foreign_keys = ON')
  // SQLite would block the event loop, and so everything, while it waits for another's lock; the writer does not.
  database.run('PRAGMA busy_timeout = 0')

  reader.query('SELECT 1 FROM schema_migrations').get()
  const { version } = walIndex

  const pace = createCheckpointPace(walIndex.backlog)
  const files = watchPlaces(path, reader, log)
  const trust = createDiskTrust({
    path,
    log,
    onLost,
    async prove(isDoubted) {
      await disk?.pause()
      if (logFile === undefined) throw new Error('this system does not let the log be rewritten')
      let moved = 0
      await writer.alone(async () => {
        moved = walIndex.moved()
        await proveLog(logFile, walIndex)
      })
      const isWhole = moveLog(database)
      // SQLite believes those pages are in the file, and does not write them again.
      if (isDoubted('database') && (moved > 0 || !isWhole)) throw new Error('some pages cannot be rewritten')
      disk?.trust()
    },
  })
  const disk =
    diskThread && logFile !== undefined
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

  const listeners: (() => void)[] = []

  /** @returns the reason when it failed */
  function moveAtEnd(): unknown {
    // By now, another log or database may be there.
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
    async write(work) {
      const result = await writer.write(work)
      for (const listener of listeners) listener()
      return result
    },
    onWrite: (listener) => void listeners.push(listener),
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
      // Moved into the database file, so that a copy of it alone is complete.
      const unmoved = moveAtEnd()
      // SQLite would checkpoint again, and succeed without what the first sync lost.
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
