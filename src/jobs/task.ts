/** Work that is done from time to time, off the path of any request. */
import type { Log } from '../log/log.ts'
import { createSingleFlight } from './single-flight.ts'

export type Task = {
  /** Milliseconds from one run to the next; a turn that comes while a run is under way is left out. */
  everyMs: number
  /** @param stopping aborted when the panel stops: a run of many steps ends after the one it is at */
  run(stopping: AbortSignal): Promise<unknown>
  log: Log
  /** What the log says when a run fails. It is tried again at the next turn. */
  failure: string
}

/**
 * Starts tasks, each of which runs for the first time after `everyMs`. They do not keep the process alive.
 *
 * @returns what stops them, and resolves when the runs under way are over
 */
export function startTasks(tasks: readonly Task[]): () => Promise<void> {
  const stopping = new AbortController()
  const started = tasks.map(({ everyMs, run, log, failure }) => {
    const flight = createSingleFlight(async () => {
      await run(stopping.signal)
    })
    const timer = setInterval(() => flight.join().catch((err) => log.error({ err }, failure)), everyMs)
    timer.unref()
    return { timer, flight }
  })

  return async () => {
    stopping.abort()
    for (const { timer } of started) clearInterval(timer)
    await Promise.all(started.map(({ flight }) => flight.idle()))
  }
}
