/** Whether the disk keeps what is written: doubted after a sync that failed, and proved once by writing everything anew, or lost. */
import type { Log } from '../../log/log.ts'
import { LostDiskError, writesStopped } from '../failures.ts'
import type { Doubt } from './fast/disk-thread.ts'

export type DiskTrustOptions = {
  /** The database's, for the log. */
  path: string
  log: Log
  /**
   * Writes everything anew that may not be on the disk.
   *
   * @param isDoubted asked when nothing else is under way that could fail
   * @throws Error when it is not known to be there after that either
   */
  prove(isDoubted: (file: Doubt) => boolean): Promise<void>
  /** Told when it could not be proved. The process has to end, and must not close the database: that would build on it. */
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
    /** @param error of the sync */
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

    /** Resolves when it is known, one way or the other. */
    async settled(): Promise<void> {
      await proving
    },

    /** Set once it could not be proved. */
    lost: () => lost,
  }
}
