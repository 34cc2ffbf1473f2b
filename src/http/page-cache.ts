/** Keeps pages of lists as they are sent, for one version of the store: most callers ask again for what has not changed. */
import type { Awaitable } from '../core/awaitable.ts'
import type { Principal } from '../core/principal.ts'
import type { Store } from '../db/store.ts'
import { createVersionCache } from '../db/version-cache.ts'
import type { SentPage } from './conditional.ts'

export type PageCache = {
  /**
   * The page of a list, at once where it is remembered.
   *
   * @param query everything in the request that decides what the page shows
   */
  get(list: string, principal: Principal, query: object, read: () => Promise<SentPage>): Awaitable<SentPage>
}

/** Characters of all pages together, of one byte each as a rule. */
const MAX_CHARACTERS = 16_000_000

export function createPageCache(store: Pick<Store, 'version'>): PageCache {
  const pages = createVersionCache<SentPage>(store, MAX_CHARACTERS, ({ body }) => body.length)
  return {
    get: (list, { credential }, query, read) =>
      // By credential and not by user: what one key of a user may see, another may not.
      pages.get(
        `${list} ${credential.kind} ${credential.kind === 'jwt' ? credential.sessionId : credential.keyId} ${JSON.stringify(query)}`,
        read,
      ),
  }
}
