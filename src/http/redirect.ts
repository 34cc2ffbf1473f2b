/** Sends a browser elsewhere. */
import type { RequestContext } from './request-context.ts'

/**
 * @param location relative to the request's path for a page of ours: a proxy may serve us under a prefix
 * @returns 302, not 301: pages may move
 */
export function redirect({ responseHeaders }: RequestContext, location: string): Response {
  responseHeaders.set('location', location)
  responseHeaders.delete('content-type')
  return new Response(null, { status: 302 })
}
