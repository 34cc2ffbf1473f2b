/** The path under which a proxy serves the panel, where that is not the root of its host. */

/** Segments of plain characters: what is in a Link header and a document must not become anything else. */
const PREFIX = /^(?:\/[A-Za-z0-9._~-]+){1,8}$/
const MAX_LENGTH = 200

/**
 * Of the header that proxies send which strip a prefix. It needs no trusted proxy: a client that makes one up misleads
 * only itself, since no response with it is kept for another.
 *
 * @returns such as `/panel`; empty at the root
 */
export function forwardedPrefix({ headers }: Request): string {
  const prefix = headers.get('x-forwarded-prefix')
  return prefix !== null && prefix.length <= MAX_LENGTH && PREFIX.test(prefix) ? prefix : ''
}
