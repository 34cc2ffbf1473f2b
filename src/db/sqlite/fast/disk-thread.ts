/** Waits for the disk off the event loop, in a thread that runs while there is much to write. */
import { fdatasyncSync } from 'node:fs'
import type { CheckpointPace } from '../checkpoint-pace.ts'

/** What the thread receives at its start. */
export type DiskFiles = {
  /** Path of the database. */
  database: string
  /** A descriptor of the log that stays open until the thread is stopped. */
  log: number
}

export type DiskJob = 'sync' | 'checkpoint' | 'end'
export type DiskAnswer = { done: 'start' | DiskJob; failure?: DiskFailure }
export type DiskFailure = { message: string; code: string; doubt: Doubt | undefined }

/** The file whose contents on the disk are unknown after a failed sync. */
export type Doubt = 'log' | 'database'

export type DiskThread = {
  /** Whether the thread can take the coming write. It starts with the second write within a second. */
  isReady(): boolean
  /**
   * Resolves when the log as it is now is on the disk.
   *
   * @throws Error of the system; from then on every call throws, until `trust`
   */
  sync(): Promise<void>
  /** Starts moving the log into the database file, if it is long. */
  checkpoint(): void
  /** Ends the thread after the jobs it was given. It comes back when there is much to write. */
  pause(): Promise<void>
  /** Call when the log has proved to be on the disk after all. */
  trust(): void
  /** Like `pause`, for good. */
  stop(): Promise<void>
}

export type DiskThreadOptions = {
  /** Location of `disk-worker.ts`. */
  thread: URL
  files: DiskFiles
  pace: CheckpointPace
  /** Called after a sync that failed or whose outcome is unknown. */
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
  /** Why writes since then may not be on the disk. */
  let failure: Error | undefined
  let askedAt = Number.NEGATIVE_INFINITY
  let ended: Deferred | undefined
  /** One sync serves all callers that asked before it began. */
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

  /** Rejects waiting callers too: the system has forgotten what it could not write, so the next sync would succeed. */
  function fail(doubt: Doubt, error: Error): void {
    failure = error
    for (const asked of [syncing, waiting]) asked?.reject(error)
    waiting = undefined
    onDoubt(doubt, error)
  }

  /** The thread is gone, and with it the outcome of its last sync. From now on, the event loop waits for the disk. */
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

  /** For a transaction that began while the thread was running. */
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
