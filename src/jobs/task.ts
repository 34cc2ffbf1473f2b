/** Periodic work, off the path of any request. */
import type { Log } from '../log/log.ts'
import { createSingleFlight } from './single-flight.ts'

export type Task = {
  /** The interval in milliseconds. A run that would start while another is under way is skipped. */
  everyMs: number
  /** @param stopping aborted when the panel stops: a long run ends after its current step */
  run(stopping: AbortSignal): Promise<unknown>
  log: Log
  /** The log message when a run fails. The next run comes as usual. */
  failure: string
}

/**
 * Starts tasks; each first runs after `everyMs`. They do not keep the process alive.
 *
 * @returns a function that stops them and resolves when the runs under way are over
 */
export function startTasks(tasks: readonly Task[]): () => Promise<void> {
  const stopping = new AbortController()
  const started = tasks.map(({ everyMs, run, log, failure }) => {
    const flight = createSingleFlight(async () => {
      try {
        await run(stopping.signal)
      } catch (err) {
        // In the run, not where it is joined: every interval that passes during a long run joins it.
        log.error({ err }, failure)
      }
    })
    const timer = setInterval(flight.join, everyMs)
    timer.unref()
    return { timer, flight }
  })

  return async () => {
    stopping.abort()
    for (const { timer } of started) clearInterval(timer)
    await Promise.all(started.map(({ flight }) => flight.idle()))
  }
}
