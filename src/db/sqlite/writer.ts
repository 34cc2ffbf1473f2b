/** The connection that writes: transactions take turns, and none is acknowledged before it is on the disk. */
import type { Database } from 'bun:sqlite'
import { fdatasyncSync } from 'node:fs'
import { createDurations, type Durations } from '../../core/durations.ts'
import { busy, isBusy, isPassing, outcomeUnknown } from '../failures.ts'
import type { CheckpointPace } from './checkpoint-pace.ts'
import type { DiskTrust } from './disk-trust.ts'
import { isFailedSync } from './error-codes.ts'
import type { DiskThread } from './fast/disk-thread.ts'
import type { PlacedFiles } from './placed-files.ts'

/** How long a write waits in all: for the writes before it, and for another process, such as the command line. */
const PATIENCE_MS = 5000
const LOCK_POLL_MS = 10
/** Writes waiting for their turn: about a second's work. */
const MOST_WAITING = 1000

export type WriterOptions<Tx> = {
  database: Database
  tx: Tx
  /** A descriptor of the log; undefined if the system does not show it. */
  log: number | undefined
  /** Undefined if the event loop waits for the disk itself. */
  disk: DiskThread | undefined
  pace: CheckpointPace
  trust: Pick<DiskTrust, 'require' | 'isDoubted' | 'doubt'>
  files: Pick<PlacedFiles, 'look' | 'require'>
  version(): number
}

type Outcome<T> = { value: T } | { error: unknown }

export type Writer<Tx> = {
  write<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  writeSoon<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  requireUsable(): void
  durable(): Promise<void> | undefined
  /** Runs `work` under the lock after all earlier transactions, and rolls back. @throws AppError `unavailable` */
  alone(work: () => Promise<void>): Promise<void>
  /** Resolves when all transactions requested so far are over. */
  idle(): Promise<void>
  readonly waits: Durations
}

export function createWriter<Tx>(options: WriterOptions<Tx>): Writer<Tx> {
  const { database, tx, log, disk, pace, trust, files, version } = options
  const waits = createDurations()
  let turn: Promise<unknown> = Promise.resolve()
  let waiting = 0
  /** The sync of the newest commit that may not be on the disk yet; it covers all earlier ones. */
  let syncing: Promise<void> | undefined

  function requireUsable(): void {
    trust.require()
    files.require()
  }

  function syncAside(thread: DiskThread): void {
    const sync = thread.sync()
    const over = () => {
      if (syncing === sync) syncing = undefined
    }
    syncing = sync
    sync.then(over, over)
  }

  async function transaction<T>(
    work: (tx: Tx) => Promise<T>,
    askedAt: number,
    isDurable: boolean,
  ): Promise<Outcome<T>> {
    const isAside = disk?.isReady() ?? false
    try {
      requireUsable()
      // Cannot be changed within a transaction. FULL: an acknowledged write survives a power cut.
      database.run(isDurable && !isAside ? 'PRAGMA synchronous = FULL' : 'PRAGMA synchronous = NORMAL')
      await lockForWriting(database, askedAt + PATIENCE_MS)
      waits.add(performance.now() - askedAt)
      const before = version()
      const value = await work(tx)
      database.run('COMMIT')
      if (disk && isAside && isDurable && version() !== before) syncAside(disk)
      if (isAside) disk?.checkpoint()
      else checkpoint()
      return { value }
    } catch (error) {
      // After some errors, such as a full disk, SQLite has already rolled back by itself.
      if (database.inTransaction) database.run('ROLLBACK')
      if (!isFailedSync(error)) return { error }
      trust.doubt('log', error)
      return { error: outcomeUnknown(error) }
    }
  }

  /** Replaces SQLite's own checkpoint within a commit, which hides a failed sync. */
  function checkpoint(): void {
    if (!pace.isDue()) return
    let file: 'log' | 'database' = 'log'
    try {
      if (log !== undefined) fdatasyncSync(log)
      file = 'database'
      database.run('PRAGMA wal_checkpoint(PASSIVE)')
    } catch (error) {
      // Any other failure loses nothing, and is retried.
      if (file === 'log' || isFailedSync(error)) trust.doubt(file, error)
    } finally {
      pace.done()
    }
  }

  /** Runs `work` after everything requested before it, whether or not that succeeded. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = turn.then(work)
    turn = done.catch(() => undefined)
    return done
  }

  /** @returns the outcome, which counts once `synced` has resolved */
  function transactInTurn<T>(work: (tx: Tx) => Promise<T>, isDurable: boolean) {
    const askedAt = performance.now()
    waiting++
    return inTurn(async () => {
      waiting--
      const outcome = await transaction(work, askedAt, isDurable)
      return { outcome, synced: syncing }
    })
  }

  async function requireSynced(synced: Promise<void> | undefined): Promise<void> {
    try {
      await synced
      trust.require()
    } catch (error) {
      throw outcomeUnknown(error)
    }
  }

  function requireRoom(): void {
    requireUsable()
    if (waiting >= MOST_WAITING) throw busy()
  }

  return {
    async write(work) {
      requireRoom()
      // The next write may run while this one waits for the disk.
      const { outcome, synced } = await transactInTurn(work, true)
      if ('error' in outcome && isPassing(outcome.error)) throw outcome.error
      // Even if nothing was changed, or something was in the way: a commit not yet on the disk may be the cause.
      await requireSynced(synced)
      files.look()
      return unwrap(outcome)
    },

    async writeSoon(work) {
      requireRoom()
      return unwrap((await transactInTurn(work, false)).outcome)
    },

    requireUsable,

    durable() {
      return syncing || trust.isDoubted() ? requireSynced(syncing) : undefined
    },

    alone: (work) =>
      inTurn(async () => {
        await lockForWriting(database, performance.now() + PATIENCE_MS)
        try {
          await work()
        } finally {
          database.run('ROLLBACK')
        }
      }),

    async idle() {
      await turn
    },

    waits,
  }
}

function unwrap<T>(outcome: Outcome<T>): T {
  if ('error' in outcome) throw outcome.error
  return outcome.value
}

/** @throws AppError `unavailable` when another process holds the lock until the deadline */
async function lockForWriting(database: Database, deadline: number): Promise<void> {
  for (;;) {
    try {
      // IMMEDIATE: a deferred transaction that reads and then writes fails at once, whatever the busy timeout.
      database.run('BEGIN IMMEDIATE')
      return
    } catch (error) {
      if (!isBusy(error)) throw error
      if (performance.now() >= deadline) throw busy()
      await Bun.sleep(LOCK_POLL_MS)
    }
  }
}
