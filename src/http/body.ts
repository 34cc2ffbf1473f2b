/** Reads a JSON body, strictly: size, media type, encoding, syntax, shape. */
import type { Awaitable } from '../core/awaitable.ts'
import type { Clock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import { requireModestShape } from './json-shape.ts'
import { readAway } from './linger.ts'

/** Counted from the first byte. The listener cuts off a silent sender; one that trickles would stay for hours. */
const MAX_BODY_MS = 30_000
const CLOSE = { connection: 'close' }
const JSON_MEDIA_TYPE = /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i

export type BodyLimits = {
  /** A longer body is not read to the end. */
  maxBytes: number
  /** In all its arrays together; by default, see `json-shape.ts`. */
  maxItems?: number
  clock: Clock
}

/** What a body may be, for a route that takes more than others. */
export type OwnLimits = { maxBytes: number; maxItems: number }

/**
 * @param whenRead called once the body has arrived, before it is parsed
 * @returns the parsed body, or null when none was sent
 * @throws AppError `unsupported_media_type`, `payload_too_large`, `request_timeout`, `bad_request`, and what `whenRead` throws
 */
export async function readJson(
  request: Request,
  limits: BodyLimits,
  whenRead?: () => Awaitable<unknown>,
): Promise<unknown> {
  const { headers } = request
  if (!hasBody(headers)) return null
  if (!JSON_MEDIA_TYPE.test(headers.get('content-type') ?? '') || headers.has('content-encoding')) {
    throw new AppError('unsupported_media_type')
  }
  const bytes = await readBytes(request, limits)
  await whenRead?.()
  if (bytes.length === 0) return null
  return parseJson(bytes, limits.maxItems)
}

function hasBody(headers: Headers): boolean {
  return headers.has('transfer-encoding') || Number(headers.get('content-length') ?? 0) > 0
}

async function readBytes({ headers, body }: Request, { maxBytes, clock }: BodyLimits): Promise<Uint8Array> {
  if (!body) return new Uint8Array()
  const reader = body.getReader()
  const chunks: Uint8Array[] = []
  let length = Number(headers.get('content-length') ?? 0) > maxBytes ? Number.POSITIVE_INFINITY : 0
  let begunAt: number | undefined
  // A chunked body does not state its length up front: count while reading, and keep nothing beyond the cap.
  while (length <= maxBytes) {
    const { done, value } = await reader.read()
    if (done) return Buffer.concat(chunks)
    length += value.length
    begunAt ??= clock.now()
    if (clock.now() - begunAt > MAX_BODY_MS) throw new AppError('request_timeout', undefined, CLOSE)
    chunks.push(value)
  }
  await readAway(reader)
  throw new AppError('payload_too_large', `The request body must be at most ${maxBytes} bytes`, CLOSE)
}

function parseJson(bytes: Uint8Array, maxItems: number | undefined): unknown {
  let body: unknown
  let text: string
  try {
    // A byte-order mark is kept, so the parser refuses it (RFC 8259 §8.1).
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    body = JSON.parse(text)
  } catch {
    throw new AppError('bad_request', 'The body is not valid JSON in UTF-8')
  }
  requireModestShape(text, maxItems)
  return body
}
