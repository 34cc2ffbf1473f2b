/** CORS: what a browser lets pages of the origins that the operator names send and read (Fetch §3.2). */
import type { RequestContext } from './request-context.ts'

export type Cors = {
  /** Lets the page that sent a request read its response, if its origin is one of those named. */
  allow(request: Request, responseHeaders: Headers): void
  /** Whether a browser asks what one of those pages may send. */
  isPreflight(request: Request): boolean
  /** Tells what the path takes. */
  answerPreflight(context: RequestContext): Response
}

/** In every response: a cache must not give the one for this origin to a page of another. */
export const variesByOrigin = { vary: 'Origin' } as const

/** Seconds for which a browser remembers the answer to a preflight: a removed origin is out after ten minutes. */
const MAX_AGE_SECONDS = '600'

/** What scripts may read besides the body and the few headers that Fetch always shows. */
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

/** On a path that nothing serves: the page is to see the 404, and not a network error. */
const UNKNOWN_PATH = { allow: 'DELETE, GET, HEAD, PATCH, POST, PUT', takes: 'Authorization, Content-Type' }

/**
 * No credential of the browser is ever allowed (`Access-Control-Allow-Credentials`): a page has to hold the JWT itself.
 *
 * @param origins exactly as browsers send them
 * @returns undefined where there is none, so that nothing is asked of a request
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
