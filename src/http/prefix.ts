/** The path under which a proxy serves the panel, if not at the root of its host. */

/** Segments of plain characters: Link headers and documents must not become anything else. */
const PREFIX = /^(?:\/[A-Za-z0-9._~-]+){1,8}$/
const MAX_LENGTH = 200

/**
 * Reads the header that prefix-stripping proxies send. It needs no trusted proxy: a client that makes one up misleads
 * only itself, since no response with a prefix is cached for others.
 *
 * @returns such as `/panel`; empty at the root
 */
export function forwardedPrefix({ headers }: Request): string {
  const prefix = headers.get('x-forwarded-prefix')
  return prefix !== null && prefix.length <= MAX_LENGTH && PREFIX.test(prefix) ? prefix : ''
}
