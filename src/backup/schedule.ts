/** Makes backups on the schedule in the settings. */
import type { Clock } from '../core/clock.ts'
import { createSingleFlight } from '../jobs/single-flight.ts'
import { startTasks } from '../jobs/task.ts'
import type { Log } from '../log/log.ts'

/** How often backups are made, in hours (0: never), and how many of them are kept. */
export type BackupSettings = { backupIntervalHours: number; backupKeep: number }

export type BackupScheduleOptions = {
  clock: Clock
  log: Log
  readSettings(): Promise<BackupSettings>
  /** When the backups were made that there are, in milliseconds since the epoch. */
  madeAt(): number[]
  /** Makes one, and leaves as many as `keep`. */
  make(keep: number): Promise<{ name: string; bytes: number }>
}

export type BackupSchedule = ReturnType<typeof createBackupSchedule>

/** How often to check for changed settings: an operator who switches backups on wants to see one. */
const POLL_MS = 2000
const LOOK_MS = 60_000
const HOUR_MS = 3_600_000
/** After one that failed; the operator has been told. */
const RETRY_MS = HOUR_MS

export function createBackupSchedule({ clock, log, readSettings, madeAt, make }: BackupScheduleOptions) {
  let stopPolling: (() => Promise<void>) | undefined
  let seen: BackupSettings | undefined
  let sinceLookMs = 0
  let failedAt = Number.NEGATIVE_INFINITY

  /** Of the newest one; undefined where there is none. One from the future was made while the clock was wrong. */
  function newestAt(): number | undefined {
    const now = clock.now()
    const times = madeAt().filter((time) => time <= now)
    return times.length > 0 ? Math.max(...times) : undefined
  }

  function isDue(intervalHours: number): boolean {
    const now = clock.now()
    if (now - (newestAt() ?? Number.NEGATIVE_INFINITY) < intervalHours * HOUR_MS) return false
    return now - failedAt >= RETRY_MS || now < failedAt
  }

  async function makeDue(): Promise<void> {
    const { backupIntervalHours, backupKeep } = await readSettings()
    if (backupIntervalHours === 0 || !isDue(backupIntervalHours)) return
    try {
      const { name, bytes } = await make(backupKeep)
      failedAt = Number.NEGATIVE_INFINITY
      log.info({ backup: name, bytes }, 'backup created')
    } catch (err) {
      failedAt = clock.now()
      log.error({ err }, 'backup failed; it will be tried again in an hour')
    }
  }

  const making = createSingleFlight(() =>
    makeDue().catch((err) => log.error({ err }, 'backups: the settings could not be read')),
  )

  async function poll(): Promise<void> {
    const values = await readSettings()
    const { backupIntervalHours, backupKeep } = seen ?? values
    const isChanged = values.backupIntervalHours !== backupIntervalHours || values.backupKeep !== backupKeep
    seen = values
    sinceLookMs += POLL_MS
    if (!isChanged && sinceLookMs < LOOK_MS) return
    sinceLookMs = 0
    if (isChanged) failedAt = Number.NEGATIVE_INFINITY
    await making.join()
  }

  return {
    /** Makes a backup if it is time for one. Resolves when that is done. Never throws. */
    look: making.join,
    newestAt,

    /** Begins to look: for the process that serves. */
    start(): void {
      const failure = 'backups: settings not read'
      // Once now: what is changed from here on is a change.
      poll().catch((err) => log.error({ err }, failure))
      stopPolling = startTasks([{ everyMs: POLL_MS, run: poll, log, failure }])
    },

    /** A backup under way is finished first. */
    async stop(): Promise<void> {
      await stopPolling?.()
      await making.idle()
    },
  }
}
