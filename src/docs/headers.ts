/** The headers in the OpenAPI document: those operations take and those of their responses. */
import { MAX_CONDITION_LENGTH } from '../http/conditional.ts'
import { MAX_KEY_LENGTH } from '../http/idempotency/answer-once.ts'
import type { RequestHeader } from '../http/operation.ts'

type Json = { [key: string]: unknown }

export const requestHeaders: Record<RequestHeader, { description: string; schema: Json }> = {
  'If-None-Match': {
    description: 'ETags of the responses that the client has: 304 if one of them is current',
    schema: { type: 'string', maxLength: MAX_CONDITION_LENGTH },
  },
  'If-Match': {
    description: 'The ETag of the response that the client last read: 412 if the resource has changed since then',
    schema: { type: 'string', maxLength: MAX_CONDITION_LENGTH },
  },
  'Idempotency-Key': {
    description:
      'Chosen by the client, such as a UUID. For 24 hours, repeating the request with the same key returns the first response and creates nothing; a different request with that key gets 409.',
    schema: { type: 'string', minLength: 1, maxLength: MAX_KEY_LENGTH + 2 },
  },
  'Last-Event-ID': {
    description: 'The id of the last event that the client has seen: the stream goes on after it',
    schema: { type: 'string', minLength: 1, maxLength: 15, pattern: '^[0-9]{1,15}$' },
  },
  'X-Content-SHA256': {
    description: 'The SHA-256 of the body, in hex: 422 if something else arrives',
    schema: { type: 'string', minLength: 64, maxLength: 64, pattern: '^[0-9A-Fa-f]{64}$' },
  },
}

const count = (description: string, example: number) => ({
  description,
  required: true,
  schema: { type: 'integer', minimum: 0, examples: [example] },
})
const text = (description: string, example: string, more: Json = {}) => ({
  description,
  required: true,
  schema: { type: 'string', examples: [example], ...more },
})

/** In every response. */
const ofAll = {
  'X-Request-Id': text('Identifies the request in the log of the server', '0193a4c5-7b1e-7000-8000-000000000000'),
  'X-RateLimit-Limit': count('Maximum requests per time window', 120),
  'X-RateLimit-Remaining': count('Remaining requests', 119),
  'X-RateLimit-Reset': count('Unix timestamp at which the limit resets', 1_795_248_000),
  RateLimit: text(
    'The same as in the IETF draft: remaining requests, and seconds until the limit resets',
    '"user";r=119;t=60',
  ),
  'RateLimit-Policy': text('The limit that applied, as in the IETF draft', '"user";q=120;w=60'),
  'X-API-Key-Expires': {
    ...text('When the API key of the request expires; absent if it does not expire', '2027-12-31T23:59:59.000Z'),
    required: false,
  },
  'X-API-Key-Warning': {
    ...text(
      'Sent during the last fourteen days before the API key of the request expires',
      'expires in 5 days: give it a new expiry',
    ),
    required: false,
  },
}

/** In some responses. */
const ofSome = {
  'WWW-Authenticate': text(
    'RFC 6750 challenge. `error_description` has the reason if the secret was valid once',
    'Bearer realm="ncp", error="invalid_token"',
  ),
  InsufficientScope: {
    ...text(
      'Sent if another credential of the same user could do this',
      'Bearer realm="ncp", error="insufficient_scope"',
    ),
    required: false,
  },
  'Retry-After': {
    description: 'Seconds after which to try again',
    required: true,
    schema: { type: 'integer', minimum: 1, examples: [30] },
  },
  Location: text('The path of what was created', '/api/v1/sites/1', { format: 'uri-reference' }),
  Link: {
    ...text('The next page, as `rel="next"`; absent on the last', '</api/v1/sites?cursor=MTAw>; rel="next"'),
    required: false,
  },
  ETag: text(
    'Identifies this version of the response, for If-None-Match and If-Match',
    '"n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="',
  ),
  'Idempotent-Replayed': {
    ...text('Sent if this is the stored response to an earlier request with the same Idempotency-Key', 'true'),
    required: false,
  },
}

export const headerComponents = { ...ofAll, ...ofSome }

type Traits = { status: string; isPaged: boolean; isTagged: boolean; isIdempotent: boolean }

/** References to the headers of a response. */
export function headersOf({ status, isPaged, isTagged, isIdempotent }: Traits): Json {
  const names: (keyof typeof headerComponents)[] = [
    ...(Object.keys(ofAll) as (keyof typeof ofAll)[]),
    ...(status === '201' ? (['Location'] as const) : []),
    ...(status === '401' ? (['WWW-Authenticate'] as const) : []),
    ...(status === '429' || status === '503' ? (['Retry-After'] as const) : []),
    ...(isPaged ? (['Link'] as const) : []),
    ...(isTagged ? (['ETag'] as const) : []),
    ...(isIdempotent && status < '300' ? (['Idempotent-Replayed'] as const) : []),
  ]
  return {
    ...Object.fromEntries(names.map((name) => [name, reference(name)])),
    ...(status === '403' && { 'WWW-Authenticate': reference('InsufficientScope') }),
  }
}

const reference = (name: keyof typeof headerComponents) => ({ $ref: `#/components/headers/${name}` })
