/** Which site a name led to, and when: the access log says names, and a name may move from one customer to another. */

/** Times are milliseconds since the epoch. */
type Period = {
  siteId: number | undefined
  from: number
  /** Undefined while it lasts. */
  until: number | undefined
}

/** Lines that are read later than this after a move belong to no site. */
const KEPT_MS = 24 * 60 * 60 * 1000

export type NameHistory = ReturnType<typeof createNameHistory>

export function createNameHistory() {
  /** The oldest first, the last one lasting. */
  const periods = new Map<string, Period[]>()

  return {
    /**
     * Says where a name leads now. The same site again changes nothing.
     *
     * @param siteId undefined: nowhere
     * @param before a time at which it surely led where it did until now
     * @param after a time from which on it surely leads where it does now
     */
    led(name: string, siteId: number | undefined, before: number, after: number): void {
      const known = periods.get(name) ?? []
      const last = known.at(-1)
      if (last?.siteId === siteId) return
      if (last) last.until = before
      const kept = known.filter(({ until }) => until === undefined || until > before - KEPT_MS)
      periods.set(name, [...kept, { siteId, from: after, until: undefined }])
    },

    /** @returns the site that a name led to all the time; undefined if that is not certain */
    siteAt(name: string, beganAt: number, endedAt: number): number | undefined {
      return periods
        .get(name)
        ?.findLast(({ from, until }) => from <= beganAt && (until === undefined || endedAt <= until))?.siteId
    },

    /** Forgets names that have led nowhere for long. @param now milliseconds since the epoch */
    forget(now: number): void {
      for (const [name, known] of periods) {
        const last = known.at(-1)
        if (last?.siteId === undefined && (last?.from ?? 0) < now - KEPT_MS) periods.delete(name)
      }
    },
  }
}
