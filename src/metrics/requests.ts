/** Counts requests: by route, method, status and credential, with bounded sets of each. */
import { createDurations, type Durations } from '../core/durations.ts'
import type { ServedRequest } from '../core/served-request.ts'

/** A client must not be able to invent new ones. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

type Outcome = { status: number; credential: ServedRequest['credential']; count: number }
type RouteCounts = { method: string; route: string; durations: Durations; outcomes: Outcome[] }

export type RequestCounters = ReturnType<typeof createRequestCounters>

/** Methods and outcomes are in short lists: searching one costs less than building and hashing a map key per request. */
export function createRequestCounters() {
  /** By route, with one entry per method. */
  const routes = new Map<string, RouteCounts[]>()

  function countsOf(method: string, route: string): RouteCounts {
    let methods = routes.get(route)
    if (!methods) {
      methods = []
      routes.set(route, methods)
    }
    let found = methods.find((counts) => counts.method === method)
    if (!found) {
      found = { method, route, durations: createDurations(), outcomes: [] }
      methods.push(found)
    }
    return found
  }

  return {
    count({ method, route, status, credential, durationMs }: ServedRequest): void {
      const { durations, outcomes } = countsOf(METHODS.has(method) ? method : 'other', route)
      durations.add(durationMs)
      const known = outcomes.find((outcome) => outcome.status === status && outcome.credential === credential)
      if (known) known.count++
      else outcomes.push({ status, credential, count: 1 })
    },

    /** What was counted since the start. */
    read: (): Iterable<RouteCounts> => [...routes.values()].flat(),
  }
}
