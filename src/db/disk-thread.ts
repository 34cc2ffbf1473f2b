/** Waits for the disk beside the event loop, in a thread that is there while there is much to write. */
import { fdatasyncSync } from 'node:fs'

/** What the thread is told at its start. */
export type DiskFiles = {
  /** The path of the database. */
  database: string
  /** A descriptor of its log that stays open until the thread is stopped. */
  log: number
}

export type DiskJob = 'sync' | 'checkpoint' | 'end'
export type DiskAnswer = { done: 'start' | DiskJob; failure?: { message: string; code: string } }

export type DiskThread = {
  /** Whether the thread is there for what is about to be written. It comes with the second write in a second. */
  isReady(): boolean
  /** Resolves when the log is on the disk as it is now. @throws Error of the system */
  sync(): Promise<void>
  /** Begins to move what is in the log into the database file, if that is much. */
  checkpoint(): void
  /** After what was asked before. */
  stop(): Promise<void>
}

type Deferred = ReturnType<typeof Promise.withResolvers<void>>

/** SQLite's own measure, pages. */
export const CHECKPOINT_PAGES = 1000
const BUSY_MS = 1000
const IDLE_MS = 60_000

/**
 * @param thread where `disk-worker.ts` is
 * @param backlog pages in the log that are not in the database file yet
 */
export function createDiskThread(thread: URL, files: DiskFiles, backlog: () => number): DiskThread {
  let worker: Worker | undefined
  let isUp = false
  let isLost = false
  let isMoving = false
  /** The backlog after the last checkpoint: what it had to leave, for somebody was reading older pages. */
  let left = 0
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

  function tell(job: DiskJob): void {
    worker?.postMessage(job)
  }

  function syncNext(): void {
    syncing = waiting
    waiting = undefined
    if (syncing) tell('sync')
    else if (ended) tell('end')
  }

  function answered({ done, failure }: DiskAnswer): void {
    if (done === 'start') isUp = failure === undefined
    if (done === 'checkpoint') {
      isMoving = false
      left = backlog()
    }
    if (done === 'sync') {
      if (failure) syncing?.reject(Object.assign(new Error(failure.message), { code: failure.code }))
      else syncing?.resolve()
      syncNext()
    }
    if (done === 'end') forget()
  }

  /** The thread is gone, and the event loop has to wait itself, now and from now on. */
  function lost(): void {
    isLost = true
    forget()
    for (const asked of [syncing, waiting]) {
      try {
        fdatasyncSync(files.log)
        asked?.resolve()
      } catch (error) {
        asked?.reject(error)
      }
    }
    syncing = undefined
    waiting = undefined
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
    if (!worker) return Promise.resolve()
    if (!isUp) return Promise.resolve(forget())
    isUp = false
    ended = Promise.withResolvers()
    if (!syncing) tell('end')
    return ended.promise
  }

  const idleTimer = setInterval(() => {
    if (isUp && performance.now() - askedAt > IDLE_MS) void end()
  }, IDLE_MS)
  idleTimer.unref()

  return {
    isReady() {
      const now = performance.now()
      if (!worker && !isLost && now - askedAt < BUSY_MS) start()
      askedAt = now
      return isUp
    },

    sync() {
      waiting ??= Promise.withResolvers()
      const { promise } = waiting
      if (!syncing) syncNext()
      return promise
    },

    checkpoint() {
      // What can't be moved while somebody reads, such as a backup, is not to be tried at every commit.
      if (!isUp || isMoving || backlog() - left < CHECKPOINT_PAGES) return
      isMoving = true
      tell('checkpoint')
    },

    stop() {
      clearInterval(idleTimer)
      return ended?.promise ?? end()
    },
  }
}
