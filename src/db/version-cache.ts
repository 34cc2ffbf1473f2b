/** Remembers what was read from the store for one version of it. */
import type { Awaitable } from '../core/awaitable.ts'

export type VersionCache<Value> = {
  /**
   * Gives what is remembered, at once; or loads and remembers it. What `load` does not find (undefined) is looked for again.
   *
   * @param version the store's, read before this call: what is loaded under it can only be as new or newer
   */
  get<Found extends Value | undefined>(version: number, key: string, load: () => Promise<Found>): Awaitable<Found>
}

/**
 * Any commit of any process moves the version and empties the cache: what another process revokes or changes holds at the
 * next request, and no code has to remember to invalidate.
 *
 * @param capacity the weight of all entries together, beyond which the cache starts anew
 * @param weigh the weight of an entry: without it each weighs 1; one that is heavier than all may be is not kept
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
    // Another version by now, or another request was quicker.
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
      // Also for an older one, of a request that was overtaken: what it loads is newer than its version says.
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
