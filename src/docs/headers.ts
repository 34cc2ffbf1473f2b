/** The headers in the OpenAPI document: those an operation takes, and those of its responses. */
import { MAX_CONDITION_LENGTH } from '../http/conditional.ts'
import { MAX_KEY_LENGTH } from '../http/idempotency/answer-once.ts'
import type { RequestHeader } from '../http/operation.ts'

type Json = { [key: string]: unknown }

export const requestHeaders: Record<RequestHeader, { description: string; schema: Json }> = {
  'If-None-Match': {
    description: 'ETags of answers that the client holds: 304 when one of them is still current',
    schema: { type: 'string', maxLength: MAX_CONDITION_LENGTH },
  },
  'If-Match': {
    description: 'The ETag that the client last read: 412 when the resource has changed since then then',
    schema: { type: 'string', maxLength: MAX_CONDITION_LENGTH },
  },
  'Idempotency-Key': {
    description:
      'Chosen by the client, such as a UUID. For 24 hours a repetition with the same key gets the first answer and creates nothing; a different request with it gets 409.',
    schema: { type: 'string', minLength: 1, maxLength: MAX_KEY_LENGTH + 2 },
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

/** Of every response. */
const ofAll = {
  'X-Request-Id': text('Names the request in the log of the server', '0193a4c5-7b1e-7000-8000-000000000000'),
  'X-RateLimit-Limit': count('Maximum requests per time window', 120),
  'X-RateLimit-Remaining': count('Remaining requests', 119),
  'X-RateLimit-Reset': count('Unix timestamp at which the limit resets', 1_795_248_000),
  RateLimit: text('The same in the form of the IETF draft: what is left, and in how many seconds', '"user";r=119;t=60'),
  'RateLimit-Policy': text('The limit that counted, in the form of the IETF draft', '"user";q=120;w=60'),
  'X-API-Key-Expires': {
    ...text('When the API key that was sent expires; absent where it does not', '2027-12-31T23:59:59.000Z'),
    required: false,
  },
  'X-API-Key-Warning': {
    ...text('For the last fourteen days of the API key that was sent', 'expires in 5 days: give it a new expiry'),
    required: false,
  },
}

/** Of some. */
const ofSome = {
  'WWW-Authenticate': text(
    'RFC 6750 challenge. Its `error_description` has the reason when the secret was once valid',
    'Bearer realm="ncp", error="invalid_token"',
  ),
  InsufficientScope: {
    ...text('Where another credential of the same user could do it', 'Bearer realm="ncp", error="insufficient_scope"'),
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
    'Identifies this version of the answer, for If-None-Match and If-Match',
    '"n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="',
  ),
  'Idempotent-Replayed': {
    ...text('That an earlier request with this Idempotency-Key was answered so', 'true'),
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
