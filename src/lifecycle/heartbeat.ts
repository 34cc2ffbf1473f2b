/** The heartbeat for a watchdog: sent only while the event loop is on time and the database answers. */
import { createSingleFlight } from '../jobs/single-flight.ts'
import { startTasks } from '../jobs/task.ts'
import type { Log } from '../log/log.ts'

export type HeartbeatOptions = {
  /** After this long without a beat the watchdog ends the process. */
  watchdogMs: number
  /** Resolves when the database has answered. */
  probe(): Promise<void>
  beat(): void
  log: Log
}

/** Beats for each time of the watchdog, so that one that is late is no death. */
const BEATS = 4

/** @returns what ends it */
export function startHeartbeat({ watchdogMs, probe, beat, log }: HeartbeatOptions): () => Promise<void> {
  const intervalMs = watchdogMs / BEATS
  let due = performance.now() + intervalMs

  const proving = createSingleFlight(async () => {
    try {
      await probe()
      beat()
    } catch (err) {
      log.error({ err }, 'no heartbeat sent: the database does not answer')
    }
  })

  async function tick(): Promise<void> {
    const lateMs = performance.now() - due
    due = performance.now() + intervalMs
    if (lateMs > intervalMs) {
      log.warn({ lateMs: Math.round(lateMs) }, 'no heartbeat sent: the event loop is late')
      return
    }
    // Not waited for: a probe that does not come back leaves out no tick, after which the event loop would seem late.
    void proving.join()
  }

  return startTasks([{ everyMs: intervalMs, run: tick, log, failure: 'no heartbeat sent' }])
}
