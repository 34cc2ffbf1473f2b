/** A log that repeats itself sparingly while a disk keeps failing: the first failure at once, then one line a minute. */
import type { Clock } from '../core/clock.ts'
import { codeOf } from '../core/error-code.ts'
import type { Log } from './log.ts'

const PAUSE_MS = 60_000

/** @returns `log`, with each `error` that repeats one less than a minute old left out, and counted in `omitted` */
export function sparing(log: Log, clock: Clock): Log {
  const told = new Map<string, { at: number; omitted: number }>()

  return {
    ...log,
    error(fields, message) {
      // SQLite and the system have few error codes.
      const key = `${message} ${codeOf((fields as { err?: unknown }).err)}`
      const last = told.get(key)
      const now = clock.now()
      // Even if the clock was set back.
      if (last && Math.abs(now - last.at) < PAUSE_MS) {
        last.omitted++
        return
      }
      told.set(key, { at: now, omitted: 0 })
      log.error(last && last.omitted > 0 ? { ...fields, omitted: last.omitted } : fields, message)
    },
  }
}
