/** Whether the disk keeps what is written: after a failed sync, one full rewrite either proves it or shows the loss. */
import type { Log } from '../../log/log.ts'
import { LostDiskError, writesStopped } from '../failures.ts'
import type { Doubt } from './fast/disk-thread.ts'

export type DiskTrustOptions = {
  /** Of the database, for the log. */
  path: string
  log: Log
  /**
   * Rewrites everything that may not be on the disk.
   *
   * @param isDoubted to be called when nothing else is running that could fail
   * @throws Error when even that does not get it onto the disk for certain
   */
  prove(isDoubted: (file: Doubt) => boolean): Promise<void>
  /** Called when the proof failed. The process has to end without closing the database: closing would build on it. */
  onLost(error: LostDiskError): void
}

export type DiskTrust = ReturnType<typeof createDiskTrust>

export function createDiskTrust({ path, log, prove, onLost }: DiskTrustOptions) {
  const doubted = new Set<Doubt>()
  let failure: Error | undefined
  let lost: LostDiskError | undefined
  let proving: Promise<void> | undefined

  async function proveOnce(): Promise<void> {
    try {
      await prove((file) => doubted.has(file))
      doubted.clear()
      failure = undefined
      log.warn(
        { path },
        'all data was written again and is on the disk; changes are accepted again. Check the disk all the same',
      )
    } catch (error) {
      lost = new LostDiskError(path, error)
      log.error(
        { path, err: error },
        'the disk does not keep what is written. The panel ends; no change that it confirmed is affected. Check the disk (dmesg, smartctl) and have a backup ready, then start the panel: it first rewrites its write-ahead log, and ends again if that fails. A change that was answered with 503 may or may not have been made',
      )
      onLost(lost)
    }
  }

  return {
    /** @param error of the failed sync */
    doubt(file: Doubt, error: unknown): void {
      doubted.add(file)
      if (failure) return
      failure = error as Error
      log.error(
        { path, file: file === 'log' ? `${path}-wal` : path, err: error },
        'a sync failed, so the last writes may not be on the disk. No change is accepted until all data has been written again',
      )
      proving = proveOnce()
    },

    /** @throws AppError `unavailable` while nothing can be acknowledged */
    require(): void {
      if (failure) throw writesStopped(failure)
    },

    isDoubted: () => failure !== undefined,

    /** Resolves when the question is settled, either way. */
    async settled(): Promise<void> {
      await proving
    },

    /** Defined once the proof has failed. */
    lost: () => lost,
  }
}
