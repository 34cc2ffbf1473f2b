/** Runs a piece of work at most once at a time, however many callers ask for it. */

export type SingleFlight<T> = {
  /** Joins the run under way, or starts one. For work whose result is still good for a caller who arrives during it. */
  join(): Promise<T>
  /**
   * A run that starts after this call: at once, or right after the run under way. Callers during one run share the next.
   * For work that must see what the caller has just done.
   */
  next(): Promise<T>
  /** Resolves when no run is under way or pending, whether they succeeded or failed. */
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
    // For a moment between two runs, only the pending one is set.
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
