/** Caches pages of lists as they are sent, for one version of the store: most clients ask again for what has not changed. */

import type { Caller } from '../core/actor.ts'
import type { Awaitable } from '../core/awaitable.ts'
import type { ReadStore } from '../db/store.ts'
import { createVersionCache } from '../db/version-cache.ts'
import type { SentPage } from './conditional.ts'

export type PageCache = {
  /**
   * The page of a list, at once where it is remembered.
   *
   * @param query everything in the request that decides what the page shows
   */
  get<Query extends object>(
    list: string,
    caller: Caller,
    query: Query,
    read: (caller: Caller, query: Query) => Promise<SentPage>,
  ): Awaitable<SentPage>
}

/** Characters of all pages together, of one byte each as a rule. */
const MAX_CHARACTERS = 16_000_000
/** A page that is larger is read anew each time: a few would leave no room for those that everybody asks for. */
const LARGE_CHARACTERS = 250_000
/** About what an entry of the cache takes besides its page. */
const ENTRY_CHARACTERS = 500

export function createPageCache(store: Pick<ReadStore, 'version'>): PageCache {
  const pages = createVersionCache<SentPage>(store, MAX_CHARACTERS, ({ body }) =>
    body.length > LARGE_CHARACTERS ? Number.POSITIVE_INFINITY : body.length + ENTRY_CHARACTERS,
  )
  return {
    get(list, caller, query, read) {
      const { credential } = caller
      // By credential and not by user: what one key of a user may see, another may not.
      const holder = credential.kind === 'jwt' ? `session ${credential.sessionId}` : `key ${credential.keyId}`
      return pages.get(`${list} ${holder} ${JSON.stringify(query)}`, () => read(caller, query))
    },
  }
}
