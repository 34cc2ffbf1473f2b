/** Histograms of durations, kept as plain numbers that cost nothing until they are scraped. */

/** Upper bounds in seconds. A list out of memory takes a tenth of a millisecond, a login fifty. */
export const DURATION_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const BOUNDS_MS = DURATION_BUCKETS.map((seconds) => seconds * 1000)

export type Durations = ReturnType<typeof createDurations>

export function createDurations() {
  const counts = new Float64Array(BOUNDS_MS.length + 1)
  let sumMs = 0

  return {
    add(ms: number): void {
      let bucket = 0
      while (bucket < BOUNDS_MS.length && ms > (BOUNDS_MS[bucket] ?? 0)) bucket++
      counts[bucket] = (counts[bucket] ?? 0) + 1
      sumMs += ms
    },

    /** @returns how many took up to each bound, cumulated, and how many there were in all */
    read() {
      let count = 0
      const cumulated = [...counts].map((more) => {
        count += more
        return count
      })
      return { upTo: cumulated.slice(0, -1), count, sumSeconds: sumMs / 1000 }
    },
  }
}
