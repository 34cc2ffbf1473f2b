/** Waits for the disk beside the event loop, in a thread that is there while there is much to write. */
import { fdatasyncSync } from 'node:fs'
import type { CheckpointPace } from '../checkpoint-pace.ts'

/** What the thread is told at its start. */
export type DiskFiles = {
  /** The path of the database. */
  database: string
  /** A descriptor of its log that stays open until the thread is stopped. */
  log: number
}

export type DiskJob = 'sync' | 'checkpoint' | 'end'
export type DiskAnswer = { done: 'start' | DiskJob; failure?: DiskFailure }
export type DiskFailure = { message: string; code: string; doubt: Doubt | undefined }

/** The file of which a failed sync leaves unknown what is on the disk. */
export type Doubt = 'log' | 'database'

export type DiskThread = {
  /** Whether the thread is there for what is about to be written. It comes with the second write in a second. */
  isReady(): boolean
  /**
   * Resolves when the log is on the disk as it is now.
   *
   * @throws Error of the system; from then on every call does, until `trust`
   */
  sync(): Promise<void>
  /** Begins to move what is in the log into the database file, if that is much. */
  checkpoint(): void
  /** Ends the thread, after what was asked before. It comes back when there is much to write. */
  pause(): Promise<void>
  /** What is in the log is on the disk after all. */
  trust(): void
  /** As `pause`, for good. */
  stop(): Promise<void>
}

export type DiskThreadOptions = {
  /** Where `disk-worker.ts` is. */
  thread: URL
  files: DiskFiles
  pace: CheckpointPace
  /** Told of a sync that failed, or of which nobody knows how it ended. */
  onDoubt(doubt: Doubt, error: Error): void
}

type Deferred = ReturnType<typeof Promise.withResolvers<void>>

const BUSY_MS = 1000
const IDLE_MS = 60_000

export function createDiskThread({ thread, files, pace, onDoubt }: DiskThreadOptions): DiskThread {
  let worker: Worker | undefined
  let isUp = false
  let isLost = false
  let isMoving = false
  /** Why nothing that was written since is known to be on the disk. */
  let failure: Error | undefined
  let askedAt = Number.NEGATIVE_INFINITY
  let ended: Deferred | undefined
  /** One sync is for all who asked before it began. */
  let syncing: Deferred | undefined
  let waiting: Deferred | undefined

  function start(): void {
    worker = new Worker(thread, { smol: true })
    worker.onmessage = ({ data }: MessageEvent<DiskAnswer>) => answered(data)
    worker.onerror = lost
    worker.postMessage(files)
  }

  function syncNext(): void {
    syncing = waiting
    waiting = undefined
    if (syncing) tell('sync')
    else if (ended) tell('end')
  }

  function tell(job: DiskJob): void {
    worker?.postMessage(job)
  }

  function answered({ done, failure: failed }: DiskAnswer): void {
    if (done === 'start') isUp = failed === undefined
    if (done === 'checkpoint') {
      isMoving = false
      pace.done()
    }
    if (failed?.doubt) fail(failed.doubt, Object.assign(new Error(failed.message), { code: failed.code }))
    else if (done === 'sync') syncing?.resolve()
    if (done === 'sync') syncNext()
    if (done === 'end') forget()
  }

  /** The next sync would succeed, also for those who wait for it: the system has forgotten what it could not write. */
  function fail(doubt: Doubt, error: Error): void {
    failure = error
    for (const asked of [syncing, waiting]) asked?.reject(error)
    waiting = undefined
    onDoubt(doubt, error)
  }

  /** The thread is gone, and with it how its last sync ended. The event loop waits itself from now on. */
  function lost(): void {
    isLost = true
    const wasSyncing = syncing !== undefined
    const wasMoving = isMoving
    forget()
    if (wasSyncing || wasMoving)
      fail(wasMoving ? 'database' : 'log', new Error('the thread that waits for the disk died'))
    syncing = undefined
  }

  function forget(): void {
    worker?.terminate()
    worker = undefined
    isUp = false
    isMoving = false
    ended?.resolve()
    ended = undefined
  }

  function end(): Promise<void> {
    if (ended) return ended.promise
    if (!worker) return Promise.resolve()
    if (!isUp) return Promise.resolve(forget())
    isUp = false
    ended = Promise.withResolvers()
    if (!syncing) tell('end')
    return ended.promise
  }

  /** For a transaction that began while the thread was there. */
  function syncHere(): Promise<void> {
    try {
      fdatasyncSync(files.log)
      return Promise.resolve()
    } catch (error) {
      fail('log', error as Error)
      return Promise.reject(error)
    }
  }

  const idleTimer = setInterval(() => {
    if (isUp && performance.now() - askedAt > IDLE_MS) void end()
  }, IDLE_MS)
  idleTimer.unref()

  return {
    isReady() {
      const now = performance.now()
      if (!worker && !isLost && !failure && now - askedAt < BUSY_MS) start()
      askedAt = now
      return isUp
    },

    sync() {
      if (failure) return Promise.reject(failure)
      if (!worker) return syncHere()
      waiting ??= Promise.withResolvers()
      const { promise } = waiting
      if (!syncing) syncNext()
      return promise
    },

    checkpoint() {
      if (!isUp || isMoving || !pace.isDue()) return
      isMoving = true
      tell('checkpoint')
    },

    pause: end,

    trust() {
      failure = undefined
    },

    stop() {
      clearInterval(idleTimer)
      return end()
    },
  }
}
