/** Conditional requests (RFC 9110 §13): 304 when the client's copy is current, 412 when it is not what would be changed. */
import type { Awaitable } from '../core/awaitable.ts'
import { AppError } from '../core/errors.ts'
import type { Page } from '../core/page.ts'
import type { Precondition } from '../core/precondition.ts'
import { type Coding, codedTag, compress, preferredCoding } from './content-coding.ts'
import { type Envelope, envelope } from './envelope.ts'
import { linkNext } from './page.ts'
import type { RequestContext } from './request-context.ts'

/** Of an If-None-Match or If-Match, in characters: some twenty ETags of ours. */
export const MAX_CONDITION_LENGTH = 1024

/** What is sent of a resource: its body in JSON, and the strong validator of it. */
type Representation = { body: string; etag: string }

/** Undefined with status 304. A promise where it has to be compressed first. */
type Sent = Awaitable<string | Response | undefined>

/** Characters from which on compression pays for itself on the wire; a page of a few sites is far below. */
const COMPRESSED_FROM = 16_384
const compressedBodies = new WeakMap<Representation, Promise<Uint8Array>>()

/** A page of a list as it is sent. */
export type SentPage = Representation & { nextCursor: string | undefined }

/** Answers with a resource. */
export function sendResource(context: RequestContext, data: unknown): Sent {
  return send(context, represent(data))
}

/** Answers with a page of a list, and names the next one. */
export function sendPage(context: RequestContext, query: object, page: SentPage): Sent {
  linkNext(context, query, page)
  return send(context, page)
}

/** `sendPage` for a page that may come later. */
export function pageSender(context: RequestContext, query: object): (page: SentPage) => Sent {
  return (page) => sendPage(context, query, page)
}

/** Answers with a resource that was changed, and its new ETag. */
export function sendChanged<Data>({ responseHeaders }: RequestContext, data: Data, message: string): Envelope<Data> {
  responseHeaders.set('etag', represent(data).etag)
  return envelope(data, message)
}

/**
 * The If-Match of a request.
 *
 * @param toModel what a read of the resource shows
 * @returns undefined where there is none
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
  // A page that is no longer the last is another one, though its rows are the same.
  return { ...represent(rows.map(toModel), nextCursor), nextCursor }
}

/** @param more what belongs to the representation and is not in the data */
function represent(data: unknown, more = ''): Representation {
  const body = JSON.stringify(envelope(data))
  return { body, etag: `"${Bun.SHA256.hash(body + more, 'base64')}"` }
}

/** @returns the body; undefined, with status 304, for a client that has it */
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

/** Of a page that is remembered, once. */
function compressed(representation: Representation, coding: Coding): Promise<Uint8Array> {
  let bytes = compressedBodies.get(representation)
  if (!bytes) {
    bytes = compress(representation.body, coding)
    compressedBodies.set(representation, bytes)
  }
  return bytes
}

/** An entity tag as a proxy that compresses hands it on: made weak (nginx, HAProxy), or with a suffix (Apache, Caddy). */
const TAG = /^(?:W\/)?("[^"]*?)(?:-(?:gzip|br|zstd|deflate)|;gzip)?"$/

/**
 * Compares weakly, also for If-Match, where RFC 9110 §13.1.1 asks for the strong comparison: a weak tag may stand for
 * several representations. Ours never does. It is a hash of what was sent, so whatever a proxy did to the tag on its way,
 * it names the one representation that the client has seen.
 *
 * @param condition an If-Match or If-None-Match header; null where there is none
 */
export function matchesTag(condition: string | null, etag: string): boolean {
  if (condition === null || condition.length > MAX_CONDITION_LENGTH) return false
  return condition === '*' || condition.split(',').some((candidate) => `${TAG.exec(candidate.trim())?.[1]}"` === etag)
}
