/** Tells the reconciler through the listener itself which generation of a site is served. */
import { timingSafeEqual } from 'node:crypto'
import type { Reply } from './reply.ts'
import type { ServedSite } from './site.ts'

/** Of the path of every probe. */
export const PROBE_PREFIX = '/.well-known/ncp/'

/** The body of the answer, as JSON. */
export type ProbeAnswer = { site: number; generation: number; state: ServedSite['state'] }

/** The path at which a site says what is served. */
export const probePath = (token: string) => `${PROBE_PREFIX}${token}`

/**
 * @param token random, at least 128 bits; with another token, a path names a file
 * @returns a function that says whether a path is that of the probe
 */
export function createProbe(token: string): (pathname: string) => boolean {
  const expected = digest(token)
  return (pathname) =>
    pathname.startsWith(PROBE_PREFIX) && timingSafeEqual(digest(pathname.slice(PROBE_PREFIX.length)), expected)
}

export function answerProbe({ id, generation, state }: ServedSite): Reply {
  const answer: ProbeAnswer = { site: id, generation, state }
  return {
    status: 200,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    body: new TextEncoder().encode(JSON.stringify(answer)),
  }
}

/** Has the same length for every text, which the comparison needs. */
const digest = (text: string) => Bun.SHA256.hash(text)
