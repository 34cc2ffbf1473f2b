/** One run of a piece of work at a time, however many callers ask for it. */

export type SingleFlight<T> = {
  /** The run under way, or a new one. For work whose result serves a caller who asked while it was running. */
  join(): Promise<T>
  /**
   * A run that begins after this call: at once, or right after the run under way. Callers who ask during one run share the
   * one after it. For work that must see what the caller has just done.
   */
  next(): Promise<T>
  /** Resolves when no run is under way or waits, whatever became of them. */
  idle(): Promise<void>
}

export function createSingleFlight<T>(work: () => Promise<T>): SingleFlight<T> {
  let running: Promise<T> | undefined
  let waiting: Promise<T> | undefined

  function start(): Promise<T> {
    waiting = undefined
    running = work().finally(() => {
      running = undefined
    })
    return running
  }

  return {
    // Between two runs only the second is there, and has not begun.
    join: () => running ?? waiting ?? start(),

    next() {
      if (waiting) return waiting
      if (!running) return start()
      waiting = running.then(start, start)
      return waiting
    },

    async idle() {
      for (let last = waiting ?? running; last; last = waiting ?? running) await last.catch(() => undefined)
    },
  }
}
