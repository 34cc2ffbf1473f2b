/** When each of several things was last used, until that is written. */

export type LatestTimes = ReturnType<typeof createLatestTimes>

export function createLatestTimes() {
  const times = new Map<number, number>()

  return {
    get size() {
      return times.size
    },

    /** @param at milliseconds since the epoch */
    set(id: number, at: number): void {
      times.set(id, at)
    },

    /** Takes the first of them out. */
    take(most: number): [id: number, at: number][] {
      const taken = [...times.entries().take(most)]
      for (const [id] of taken) times.delete(id)
      return taken
    },

    /** Keeps what could not be written for the next time, unless there is something newer. */
    putBack(taken: readonly [id: number, at: number][]): void {
      for (const [id, at] of taken) if (!times.has(id)) times.set(id, at)
    },
  }
}
