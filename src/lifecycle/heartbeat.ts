/** The sign of life for a watchdog: only while the event loop turns in time and the database answers. */
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
export function startHeartbeat({ watchdogMs, probe, beat, log }: HeartbeatOptions): () => void {
  const intervalMs = watchdogMs / BEATS
  let due = performance.now() + intervalMs
  let isProbing = false

  async function tick(): Promise<void> {
    const lateMs = performance.now() - due
    due = performance.now() + intervalMs
    if (lateMs > intervalMs) {
      log.warn({ lateMs: Math.round(lateMs) }, 'no sign of life: the event loop is late')
      return
    }
    // Behind a probe that doesn't come back there is no use in another one.
    if (isProbing) return
    isProbing = true
    try {
      await probe()
      beat()
    } catch (err) {
      log.error({ err }, 'no sign of life: the database does not answer')
    } finally {
      isProbing = false
    }
  }

  const beating = setInterval(tick, intervalMs)
  beating.unref()
  return () => clearInterval(beating)
}
