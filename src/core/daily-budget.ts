/** Daily budgets per account, which reset at midnight UTC. */
import type { Clock } from './clock.ts'

export type DailyBudget = {
  /**
   * @param most that `key` may use in a day
   * @returns whether there was room for the amount, which is then used
   */
  take(key: string, amount: number, most: number): boolean
}

const DAY_MS = 24 * 60 * 60 * 1000

/** Counted in memory: a restart, which no customer can bring about, begins a new day. */
export function createDailyBudget(clock: Clock): DailyBudget {
  let day = Number.NaN
  let used = new Map<string, number>()

  return {
    take(key, amount, most) {
      const today = Math.floor(clock.now() / DAY_MS)
      if (today !== day) {
        day = today
        used = new Map()
      }
      const total = (used.get(key) ?? 0) + amount
      if (total > most) return false
      used.set(key, total)
      return true
    },
  }
}
