/** Conditional reads: every answer to a read has an ETag, and a client that has it already gets 304 (RFC 9110 §13). */
import type { Page } from '../core/page.ts'
import { envelope } from './envelope.ts'
import { linkNext } from './page.ts'
import type { Visit } from './visit.ts'

/** Of an If-None-Match, in characters: some twenty ETags of ours. */
export const MAX_CONDITION_LENGTH = 1024

type Context = { request: Request; set: { status?: number | string }; visit: Visit }

/** What is sent of a resource: its body in JSON, and the strong validator of it. */
type Representation = { body: string; etag: string }

/** A page of a list as it is sent. */
export type SentPage = Representation & { nextCursor: string | undefined }

/** Answers with a resource. */
export function sendResource(context: Context, data: unknown): string | undefined {
  return send(context, represent(data))
}

/** Answers with a page of a list, and names the next one. */
export function sendPage(context: Context & { query: object }, page: SentPage): string | undefined {
  linkNext(context, page)
  return send(context, page)
}

/** `sendPage` for a page that may come later. */
export function pageSender(context: Context & { query: object }): (page: SentPage) => string | undefined {
  return (page) => sendPage(context, page)
}

export function representPage<Row>({ rows, nextCursor }: Page<Row>, toModel: (row: Row) => unknown): SentPage {
  // A page that is not the last any more is another one, though its rows are the same.
  return { ...represent(rows.map(toModel), nextCursor), nextCursor }
}

/** @param more what belongs to the representation and is not in the data */
function represent(data: unknown, more = ''): Representation {
  const body = JSON.stringify(envelope(data))
  return { body, etag: `"${Bun.SHA256.hash(body + more, 'base64')}"` }
}

/** @returns the body; undefined, with status 304, for a client that has it */
function send({ request, set, visit: { responseHeaders } }: Context, { body, etag }: Representation) {
  responseHeaders.set('etag', etag)
  if (!names(request.headers.get('if-none-match'), etag)) return body
  set.status = 304
  responseHeaders.delete('content-type')
  return undefined
}

/** Whether an If-None-Match names the ETag: weakly, since a proxy that compresses may have weakened it (§8.8.3.2). */
function names(header: string | null, etag: string): boolean {
  if (header === null || header.length > MAX_CONDITION_LENGTH) return false
  return header === '*' || header.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === etag)
}
