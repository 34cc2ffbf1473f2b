/** Counts the requests of sites by the hour, until they are reported. */
import { randomUUID } from 'node:crypto'
import type { HourUsage, UsageBatch } from '../node/protocol.ts'
import { MAX_HOURS_OF_BATCH } from '../node/protocol.ts'

const HOUR_MS = 60 * 60 * 1000

export type HourlyUsage = ReturnType<typeof createHourlyUsage>

/** What is not known to be reported. */
export type CountedUsage = {
  hours: HourUsage[]
  /** Sent, and not known to have arrived: it is sent again as it was, so that it counts once. */
  pending?: UsageBatch
}

const keyOf = (siteId: number, hour: number) => `${siteId} ${hour}`

/** @param before what was counted by another process, which has ended */
export function createHourlyUsage(before: CountedUsage = { hours: [] }) {
  const counted = new Map(before.hours.map((usage) => [keyOf(usage.siteId, usage.hour), { ...usage }]))
  let { pending } = before

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
      const key = keyOf(siteId, hour)
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

    /** For one that begins where this ends. */
    state: (): CountedUsage => ({ hours: [...counted.values()], ...(pending && { pending }) }),

    /** Gives up the hours before this time. @param before milliseconds since the epoch */
    forget(before: number): void {
      for (const [key, { hour }] of counted) if (hour < before) counted.delete(key)
    },

    /** Reports everything that was counted. @throws what `send` throws; nothing is lost by it, and nothing counts twice */
    async report(send: (batch: UsageBatch) => Promise<void>): Promise<void> {
      for (pending ??= take(); pending; pending = take()) await send(pending)
    },
  }
}
