/** Conditional requests (RFC 9110 §13): 304 when the client's copy is current, 412 when it is stale for a change. */
import type { Awaitable } from '../core/awaitable.ts'
import { AppError } from '../core/errors.ts'
import type { Page } from '../core/page.ts'
import type { Precondition } from '../core/precondition.ts'
import { type Coding, codedTag, compress, preferredCoding } from './content-coding.ts'
import { type Envelope, envelope } from './envelope.ts'
import { linkNext } from './page.ts'
import type { RequestContext } from './request-context.ts'

/** Length of an If-None-Match or If-Match in characters: room for some twenty of our ETags. */
export const MAX_CONDITION_LENGTH = 1024

/** What is sent for a resource: its JSON body and its strong validator. */
type Representation = { body: string; etag: string }

/** Undefined with status 304; a promise when the body must be compressed first. */
type Sent = Awaitable<string | Response | undefined>

/** Characters from which compression pays off on the wire; a page of a few sites is far below. */
const COMPRESSED_FROM = 16_384
const compressedBodies = new WeakMap<Representation, Promise<Uint8Array>>()

/** A page of a list as it is sent. */
export type SentPage = Representation & { nextCursor: string | undefined }

/** Answers with a resource. */
export function sendResource(context: RequestContext, data: unknown): Sent {
  return send(context, represent(data))
}

/** Answers with a page of a list, and links to the next one. */
export function sendPage(context: RequestContext, query: object, page: SentPage): Sent {
  linkNext(context, query, page)
  return send(context, page)
}

/** `sendPage` for a page that may arrive later. */
export function pageSender(context: RequestContext, query: object): (page: SentPage) => Sent {
  return (page) => sendPage(context, query, page)
}

/** Answers with the changed resource and its new ETag. */
export function sendChanged<Data>({ responseHeaders }: RequestContext, data: Data, message: string): Envelope<Data> {
  responseHeaders.set('etag', represent(data).etag)
  return envelope(data, message)
}

/**
 * Reads the If-Match of a request.
 *
 * @param toModel what a read of the resource shows
 * @returns undefined without the header
 */
export function preconditionOf<Present>(
  { request: { headers } }: RequestContext,
  toModel: (present: Present) => unknown,
): Precondition<Present> | undefined {
  const condition = headers.get('if-match')
  if (condition === null) return undefined
  return (present) => {
    if (!matchesTag(condition, represent(toModel(present)).etag)) throw new AppError('precondition_failed')
  }
}

export function representPage<Row>({ rows, nextCursor }: Page<Row>, toModel: (row: Row) => unknown): SentPage {
  // A page that is no longer the last is a different one, even with the same rows.
  return { ...represent(rows.map(toModel), nextCursor), nextCursor }
}

/** @param more parts of the representation that are not in the data */
function represent(data: unknown, more = ''): Representation {
  const body = JSON.stringify(envelope(data))
  return { body, etag: `"${Bun.SHA256.hash(body + more, 'base64')}"` }
}

/** @returns the body; undefined, with status 304, if the client already has it */
function send({ request, responseHeaders, reply }: RequestContext, representation: Representation): Sent {
  const { body, etag } = representation
  const isLarge = body.length >= COMPRESSED_FROM
  const coding = isLarge ? preferredCoding(request.headers.get('accept-encoding'), ['gzip']) : undefined
  if (isLarge) responseHeaders.append('vary', 'Accept-Encoding')
  responseHeaders.set('etag', coding === undefined ? etag : codedTag(etag, coding))
  if (matchesTag(request.headers.get('if-none-match'), etag)) {
    reply.status = 304
    responseHeaders.delete('content-type')
    return undefined
  }
  if (coding === undefined) return body
  return compressed(representation, coding).then((bytes) => {
    responseHeaders.set('content-encoding', coding)
    return new Response(bytes as Bun.BodyInit)
  })
}

/** Compresses a cached page only once. */
function compressed(representation: Representation, coding: Coding): Promise<Uint8Array> {
  let bytes = compressedBodies.get(representation)
  if (!bytes) {
    bytes = compress(representation.body, coding)
    compressedBodies.set(representation, bytes)
  }
  return bytes
}

/** An entity tag that a compressing proxy has changed: made weak (nginx, HAProxy) or given a suffix (Apache, Caddy). */
const TAG = /^(?:W\/)?("[^"]*?)(?:-(?:gzip|br|zstd|deflate)|;gzip)?"$/

/**
 * Compares weakly, even for If-Match, where RFC 9110 §13.1.1 asks for a strong comparison, as a weak tag can stand for
 * several representations. Ours never does. It is a hash of what was sent, so whatever a proxy did to it on the way,
 * it identifies the one representation that the client has seen.
 *
 * @param condition an If-Match or If-None-Match header; null if absent
 */
export function matchesTag(condition: string | null, etag: string): boolean {
  if (condition === null || condition.length > MAX_CONDITION_LENGTH) return false
  return condition === '*' || condition.split(',').some((candidate) => `${TAG.exec(candidate.trim())?.[1]}"` === etag)
}
