/** Caches what was read from the store, for one version of it. */
import type { Awaitable } from '../core/awaitable.ts'

export type VersionCache<Value> = {
  /**
   * Returns a cached value synchronously, or loads and caches it. A missing value (undefined) is looked up again.
   *
   * @param version the store's, read before this call: what is loaded under it can only be as new or newer
   */
  get<Found extends Value | undefined>(version: number, key: string, load: () => Promise<Found>): Awaitable<Found>
}

/**
 * Any commit of any process changes the version and empties the cache: what another process revokes or changes takes
 * effect at the next request, and no code has to remember to invalidate.
 *
 * @param capacity the total weight of all entries, beyond which the cache is emptied
 * @param weigh the weight of an entry, by default 1; an entry heavier than the capacity is not cached
 */
export function createVersionCache<Value>(
  capacity: number,
  weigh: (value: Value) => number = () => 1,
): VersionCache<Value> {
  let entries = new Map<string, Value>()
  let weight = 0
  let version = Number.NaN

  function restart(): void {
    entries = new Map()
    weight = 0
  }

  async function loadInto<Found extends Value | undefined>(
    current: Map<string, Value>,
    key: string,
    load: () => Promise<Found>,
  ): Promise<Found> {
    const found = await load()
    // By now, the version may have changed, or another request was quicker.
    if (found === undefined || current !== entries || current.has(key)) return found
    const added = weigh(found)
    if (added > capacity) return found
    if (weight + added > capacity) restart()
    entries.set(key, found)
    weight += added
    return found
  }

  return {
    get<Found extends Value | undefined>(now: number, key: string, load: () => Promise<Found>): Awaitable<Found> {
      // Even for an older version, of a request that was overtaken: what it loads is newer than its version says.
      if (now !== version) {
        restart()
        version = now
      }
      const known = entries.get(key)
      if (known !== undefined) return known as Found
      // Into the entries of this version, whatever happens while loading: what is read later can only be newer.
      return loadInto(entries, key, load)
    },
  }
}
