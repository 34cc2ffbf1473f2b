/** Remembers what was read from the store for one version of it. */
import type { Store } from './store.ts'

export type VersionCache<Value> = {
  /** Gives what is remembered, or loads and remembers it. What `load` doesn't find (undefined) is looked for again. */
  get<Found extends Value | undefined>(key: string, load: () => Promise<Found>): Promise<Found>
}

/**
 * Any commit of any process moves the version and empties the cache: what another process revokes or changes holds at the
 * next request, and no code has to remember to invalidate.
 *
 * @param maxEntries beyond which the cache starts anew
 */
export function createVersionCache<Value>(store: Pick<Store, 'version'>, maxEntries: number): VersionCache<Value> {
  let entries = new Map<string, Value>()
  let version = Number.NaN

  return {
    async get<Found extends Value | undefined>(key: string, load: () => Promise<Found>): Promise<Found> {
      const now = store.version()
      if (now !== version) {
        entries = new Map()
        version = now
      }
      // Of this version, whatever happens while loading: what is read later can only be newer than its key says.
      const current = entries
      const known = current.get(key)
      if (known !== undefined) return known as Found
      const found = await load()
      if (found !== undefined) {
        if (current.size >= maxEntries) current.clear()
        current.set(key, found)
      }
      return found
    },
  }
}
