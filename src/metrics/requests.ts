/** Counts requests: by route, method, status and credential, with bounded sets of each. */
import { createDurations, type Durations } from '../core/durations.ts'
import type { ServedRequest } from '../core/served-request.ts'

/** A client must not be able to invent new ones. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

type Outcome = { status: number; credential: ServedRequest['credential']; count: number }
type RouteCounts = { method: string; route: string; durations: Durations; outcomes: Map<string, Outcome> }

export type RequestCounters = ReturnType<typeof createRequestCounters>

export function createRequestCounters() {
  const routes = new Map<string, RouteCounts>()

  function countsOf(method: string, route: string): RouteCounts {
    const key = `${method} ${route}`
    let found = routes.get(key)
    if (!found) {
      found = { method, route, durations: createDurations(), outcomes: new Map() }
      routes.set(key, found)
    }
    return found
  }

  return {
    count({ method, route, status, credential, durationMs }: ServedRequest): void {
      const { durations, outcomes } = countsOf(METHODS.has(method) ? method : 'other', route)
      durations.add(durationMs)
      const key = `${status}${credential}`
      const known = outcomes.get(key)
      if (known) known.count++
      else outcomes.set(key, { status, credential, count: 1 })
    },

    /** What was counted since the start. */
    read: (): Iterable<RouteCounts> => routes.values(),
  }
}
