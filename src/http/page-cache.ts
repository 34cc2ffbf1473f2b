/** Caches list pages as sent, for one version of the store: most clients ask again for what has not changed. */
import type { Caller } from '../core/actor.ts'
import type { Awaitable } from '../core/awaitable.ts'
import { createVersionCache } from '../db/version-cache.ts'
import type { SentPage } from './conditional.ts'
import type { RequestContext } from './request-context.ts'

export type PageCache = {
  /**
   * Returns the page of a list, synchronously if it is cached.
   *
   * @param request its `query` is everything that affects the page
   */
  get<Query extends object>(
    list: string,
    request: { caller: Caller; context: RequestContext; query: Query },
    read: (caller: Caller, query: Query) => Promise<SentPage>,
  ): Awaitable<SentPage>
}

/** Characters of all pages together, usually one byte each. */
const MAX_CHARACTERS = 16_000_000
/** A larger page is read again each time: a few of those would leave no room for the popular ones. */
const LARGE_CHARACTERS = 250_000
/** Roughly what a cache entry takes besides its page. */
const ENTRY_CHARACTERS = 500

export function createPageCache(): PageCache {
  const pages = createVersionCache<SentPage>(MAX_CHARACTERS, ({ body }) =>
    body.length > LARGE_CHARACTERS ? Number.POSITIVE_INFINITY : body.length + ENTRY_CHARACTERS,
  )
  return {
    get(list, { caller, context, query }, read) {
      const { credential } = caller
      // By credential, not by user: one key of a user may see what another may not.
      const holder = credential.kind === 'jwt' ? `session ${credential.sessionId}` : `key ${credential.keyId}`
      return pages.get(context.version, `${list} ${holder} ${JSON.stringify(query)}`, () => read(caller, query))
    },
  }
}
