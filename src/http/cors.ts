/** CORS: what browsers let pages of the configured origins send and read (Fetch §3.2). */
import type { RequestContext } from './request-context.ts'

export type Cors = {
  /** Lets the page that sent a request read the response if its origin is configured. */
  allow(request: Request, responseHeaders: Headers): void
  /** Whether a browser is asking what a page of a configured origin may send. */
  isPreflight(request: Request): boolean
  /** Lists what the path accepts. */
  answerPreflight(context: RequestContext): Response
}

/** In every response: a cache must not serve the one for this origin to a page of another. */
export const variesByOrigin = { vary: 'Origin' } as const

/** Seconds for which a browser remembers a preflight response: a removed origin is out after ten minutes. */
const MAX_AGE_SECONDS = '600'

/** What scripts may read besides the body and the few headers that Fetch always exposes. */
const EXPOSED = [
  'Link',
  'ETag',
  'Location',
  'Allow',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'WWW-Authenticate',
  'Idempotent-Replayed',
  'X-Request-Id',
  'X-API-Key-Expires',
  'X-API-Key-Warning',
].join(', ')

/** On an unknown path: the page should see the 404, not a network error. */
const UNKNOWN_PATH = { allow: 'DELETE, GET, HEAD, PATCH, POST, PUT', takes: 'Authorization, Content-Type' }

/**
 * Browser credentials are never allowed (`Access-Control-Allow-Credentials`): a page has to hold the JWT itself.
 *
 * @param origins exactly as browsers send them
 * @returns undefined without origins, so that requests skip the checks
 */
export function createCors(origins: readonly string[]): Cors | undefined {
  if (origins.length === 0) return undefined
  const allowed = new Set(origins)
  const isAllowed = (origin: string | null): origin is string => origin !== null && allowed.has(origin)

  return {
    allow({ headers }, responseHeaders) {
      const origin = headers.get('origin')
      if (!isAllowed(origin)) return
      responseHeaders.set('access-control-allow-origin', origin)
      responseHeaders.set('access-control-expose-headers', EXPOSED)
    },

    isPreflight({ method, headers }) {
      return method === 'OPTIONS' && headers.has('access-control-request-method') && isAllowed(headers.get('origin'))
    },

    answerPreflight({ route = UNKNOWN_PATH, responseHeaders }) {
      responseHeaders.set('access-control-allow-methods', route.allow)
      responseHeaders.set('access-control-allow-headers', route.takes)
      responseHeaders.set('access-control-max-age', MAX_AGE_SECONDS)
      responseHeaders.delete('content-type')
      return new Response(null, { status: 204, headers: responseHeaders })
    },
  }
}
