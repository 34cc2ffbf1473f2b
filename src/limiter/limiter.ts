/** Rate limits: a bounded table of token buckets for each policy; a bucket refills all at once. */
import type { Clock } from '../core/clock.ts'

export type Policy = {
  /** As it stands in the `RateLimit` header. */
  name: string
  /** Requests per window, 1 or more. */
  limit: number
  /** Seconds from a bucket's first request until it is full again. */
  windowSeconds: number
}

export type Verdict = {
  allowed: boolean
  policy: Policy
  /** Tokens left, 0 or more. */
  remaining: number
  /** Unix time in whole seconds at which the bucket is full again. */
  resetAt: number
  /** Whole seconds until then, 1 or more. */
  retryAfter: number
}

export type Limiter = {
  /** Takes a token of `key` under the policy. */
  take(policy: Policy, key: string): Verdict
  /** Requests refused since the start, by policy. */
  readonly refusals: ReadonlyMap<string, number>
  /** Buckets held now, over all policies. */
  readonly size: number
}

/** `fullAt` in milliseconds since the epoch. */
type Bucket = { remaining: number; fullAt: number }

/** Buckets a policy may hold: about 100 bytes each. */
const MAX_BUCKETS = 100_000
/** How many of the oldest buckets are weighed against each other when one has to go. */
const EVICTION_SAMPLE = 16
/** The one bucket that new keys share while every bucket of the sample is being limited. */
const OVERFLOW_KEY = ''

/**
 * A bucket starts full at its first request and is full again at `resetAt`, so that limit, remaining and reset mean
 * exactly what the contract says and the request after the last is refused at any speed.
 */
export function createLimiter({ clock, maxBuckets = MAX_BUCKETS }: { clock: Clock; maxBuckets?: number }): Limiter {
  const tables = new Map<string, Map<string, Bucket>>()
  const refusals = new Map<string, number>()

  function tableOf(policy: Policy): Map<string, Bucket> {
    let table = tables.get(policy.name)
    if (!table) {
      table = new Map()
      tables.set(policy.name, table)
    }
    return table
  }

  return {
    take(policy, key) {
      const now = clock.now()
      const table = tableOf(policy)
      let bucket = table.get(key)
      // Further ahead than a window reaches: the clock was put back, and no client should wait until it catches up.
      if (bucket && (bucket.fullAt <= now || bucket.fullAt > now + policy.windowSeconds * 1000)) {
        // Deleted and set again, so that the map stays in order of age.
        table.delete(key)
        bucket = undefined
      }
      if (!bucket) {
        const holder = makeRoom(table, now, maxBuckets) ? key : OVERFLOW_KEY
        bucket = table.get(holder)
        if (!bucket || bucket.fullAt <= now) {
          bucket = { remaining: policy.limit, fullAt: now + policy.windowSeconds * 1000 }
          table.set(holder, bucket)
        }
      }
      const allowed = bucket.remaining > 0
      if (allowed) bucket.remaining--
      else refusals.set(policy.name, (refusals.get(policy.name) ?? 0) + 1)
      const { remaining, fullAt } = bucket
      // Both rounded up: a client that comes back then finds the bucket full.
      const resetAt = Math.ceil(fullAt / 1000)
      const retryAfter = Math.max(1, Math.ceil((fullAt - now) / 1000))
      return { allowed, policy, remaining, resetAt, retryAfter }
    },
    refusals,
    get size() {
      let size = 0
      for (const table of tables.values()) size += table.size
      return size
    },
  }
}

/**
 * Drops what has expired; in a full table then the bucket with most tokens left among the oldest. A bucket that is
 * empty stays, or flooding the table with other addresses would free an attacker who is being limited.
 *
 * @returns whether there is room for one more
 */
function makeRoom(table: Map<string, Bucket>, now: number, maxBuckets: number): boolean {
  let fullest: string | undefined
  let most = 0
  let seen = 0
  const emptied: [string, Bucket][] = []
  for (const [key, bucket] of table) {
    if (bucket.fullAt <= now) {
      table.delete(key)
      continue
    }
    if (table.size < maxBuckets || ++seen > EVICTION_SAMPLE) break
    if (bucket.remaining === 0) emptied.push([key, bucket])
    if (bucket.remaining > most) {
      most = bucket.remaining
      fullest = key
    }
  }
  if (table.size < maxBuckets) return true
  if (fullest !== undefined) return table.delete(fullest)
  // All of the sample are being limited: move them back, so that the next look sees others.
  for (const [key, bucket] of emptied) {
    table.delete(key)
    table.set(key, bucket)
  }
  return false
}
