/** Which site a name led to, and when: the access log says names, and a name may move from one customer to another. */

/** Times are milliseconds since the epoch. */
type Period = {
  siteId: number | undefined
  from: number
  /** Undefined while it lasts. */
  until: number | undefined
}

type Known = {
  /** What was before this time, nobody knows. */
  since: number
  /** The oldest first, the last one lasting. */
  periods: Period[]
}

/** Lines that are read later than this after a move belong to no site. */
const KEPT_MS = 24 * 60 * 60 * 1000

/** Longer than a worker of the web server is kept from its clock. */
export const BLUR_MS = 2000

export type NameHistory = ReturnType<typeof createNameHistory>

export type NameHistoryOptions = {
  /** Before any name was looked at: from then on, names that were not found led nowhere. */
  startedAt: number
  /** By which the times of a request may be wrong: the web server reads its clock only now and then. */
  blurMs: number
}

export function createNameHistory({ startedAt, blurMs }: NameHistoryOptions = { startedAt: 0, blurMs: 0 }) {
  const names = new Map<string, Known>()

  function led(name: string, siteId: number | undefined, before: number, after: number): void {
    const known = names.get(name) ?? { since: startedAt, periods: [] }
    const last = known.periods.at(-1)
    if (last?.siteId === siteId) return
    if (last) last.until = Math.max(last.from, before)
    const kept = known.periods.filter(({ until }) => until === undefined || until > before - KEPT_MS)
    const dropped = known.periods.at(-1 - kept.length)
    names.set(name, {
      since: Math.max(known.since, dropped?.until ?? 0),
      periods: [...kept, { siteId, from: after, until: undefined }],
    })
  }

  return {
    /**
     * Says where a name leads now. The same site again changes nothing.
     *
     * @param siteId undefined: nowhere
     * @param before a time at which it surely led where it did until now
     * @param after a time from which on it surely leads where it does now
     */
    led,

    /**
     * Says where a name was found to lead, which someone else has done.
     *
     * @param siteId undefined: nowhere
     * @param at since when; undefined if nobody knows: then nothing is certain of the time before
     */
    found(name: string, siteId: number | undefined, { at, now }: { at: number | undefined; now: number }): void {
      const known = names.get(name)
      if (known?.periods.at(-1)?.siteId === siteId) return
      if (known && at !== undefined) led(name, siteId, at, at)
      else names.set(name, { since: at ?? now, periods: [{ siteId, from: at ?? now, until: undefined }] })
    },

    /** @returns the site that a name led to all the time, and no other about that time; undefined if that is not certain */
    siteAt(name: string, beganAt: number, endedAt: number): number | undefined {
      const known = names.get(name)
      if (!known || beganAt - blurMs < known.since) return undefined
      const { periods } = known
      const siteId = periods.findLast(
        ({ from, until }) => from <= beganAt && (until === undefined || endedAt <= until),
      )?.siteId
      const isOther = (period: Period) =>
        period.siteId !== undefined &&
        period.siteId !== siteId &&
        period.from < endedAt + blurMs &&
        (period.until === undefined || period.until > beganAt - blurMs)
      return periods.some(isOther) ? undefined : siteId
    },

    /** Forgets names that have led nowhere for long. @param now milliseconds since the epoch */
    forget(now: number): void {
      for (const [name, { periods }] of names) {
        const last = periods.at(-1)
        if (last?.siteId === undefined && (last?.from ?? 0) < now - KEPT_MS) names.delete(name)
      }
    },
  }
}
