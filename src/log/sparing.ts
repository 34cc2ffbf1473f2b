/** A log that repeats itself sparingly while a disk keeps failing: the first failure at once, then one line a minute. */
import type { Clock } from '../core/clock.ts'
import { codeOf } from '../core/error-code.ts'
import type { Log } from './log.ts'

const PAUSE_MS = 60_000

/** @returns `log`, but that an `error` is left out within a minute of one with the same message and code; `omitted` counts those */
export function sparing(log: Log, clock: Clock): Log {
  const told = new Map<string, { at: number; omitted: number }>()

  return {
    ...log,
    error(fields, message) {
      // The codes of SQLite and the system are few.
      const key = `${message} ${codeOf((fields as { err?: unknown }).err)}`
      const last = told.get(key)
      const now = clock.now()
      // Also where the clock was put back.
      if (last && Math.abs(now - last.at) < PAUSE_MS) {
        last.omitted++
        return
      }
      told.set(key, { at: now, omitted: 0 })
      log.error(last && last.omitted > 0 ? { ...fields, omitted: last.omitted } : fields, message)
    },
  }
}
