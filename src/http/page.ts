/** Pages on the wire: `limit` and `cursor` in, a Link header out (RFC 8288). */
import { t } from 'elysia'
import { PAGE_LIMIT, type PageRequest, pageRequest } from '../core/page.ts'
import { forwardedPrefix } from './prefix.ts'
import type { RequestContext } from './request-context.ts'
import { integerText, text, toInteger } from './schema.ts'

/** The query parameters of every list. */
export const pageQuery = {
  limit: t.Optional(
    integerText({
      minimum: 1,
      maximum: PAGE_LIMIT.maximum,
      description: `The most entries on a page; ${PAGE_LIMIT.default} when absent. A page also ends at about a megabyte, and a search with few matches may return a short or empty page: follow the Link header until there is none`,
    }),
  ),
  cursor: t.Optional(
    text({ maxLength: 64, description: 'Where the page begins: take it from the Link header of the previous page' }),
  ),
}

type PageQuery = { limit?: string; cursor?: string }

/** @throws AppError `validation_error` for a cursor that we never issued */
export function pageOfQuery({ limit, cursor }: PageQuery): PageRequest {
  return pageRequest(limit === undefined ? undefined : toInteger(limit), cursor)
}

/** Links to the next page: a relative reference, so that it never repeats a Host that the client made up. */
export function linkNext(
  { request, path, responseHeaders }: RequestContext,
  query: object,
  { nextCursor }: { nextCursor?: string | undefined },
): void {
  if (nextCursor === undefined) return
  const parameters = new URLSearchParams({ ...query, cursor: nextCursor })
  responseHeaders.set('link', `<${forwardedPrefix(request)}${path}?${parameters}>; rel="next"`)
}
