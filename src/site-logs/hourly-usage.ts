/** Counts the requests of sites by the hour, until they are reported. */
import { randomUUID } from 'node:crypto'
import type { HourUsage, UsageBatch } from '../node/protocol.ts'
import { MAX_HOURS_OF_BATCH } from '../node/protocol.ts'

const HOUR_MS = 60 * 60 * 1000

export type HourlyUsage = ReturnType<typeof createHourlyUsage>

export function createHourlyUsage() {
  const counted = new Map<string, HourUsage>()
  /** Sent, and not known to have arrived: it is sent again as it was, so that it counts once. */
  let pending: UsageBatch | undefined

  function take(): UsageBatch | undefined {
    const hours = [...counted.entries()].slice(0, MAX_HOURS_OF_BATCH)
    if (hours.length === 0) return undefined
    for (const [key] of hours) counted.delete(key)
    return { id: randomUUID(), hours: hours.map(([, hour]) => hour) }
  }

  return {
    /** @param at milliseconds since the epoch */
    add(siteId: number, at: number, { status, bytes }: { status: number; bytes: number }): void {
      const hour = at - (at % HOUR_MS)
      const key = `${siteId} ${hour}`
      let usage = counted.get(key)
      if (!usage) {
        usage = { siteId, hour, requests: 0, bytes: 0, statuses: [0, 0, 0, 0, 0] }
        counted.set(key, usage)
      }
      usage.requests++
      usage.bytes += bytes
      const statusClass = Math.trunc(status / 100) - 1
      const before = usage.statuses[statusClass]
      if (before !== undefined) usage.statuses[statusClass] = before + 1
    },

    /** Reports everything that was counted. @throws what `send` throws; nothing is lost by it, and nothing counts twice */
    async report(send: (batch: UsageBatch) => Promise<void>): Promise<void> {
      for (pending ??= take(); pending; pending = take()) await send(pending)
    },
  }
}
