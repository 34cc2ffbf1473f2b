/** Says of a route what the OpenAPI document and the guard need to know, in one place. */
import type { DocumentDecoration, TSchema } from 'elysia'
import { catalogue, type ErrorCode } from '../core/errors.ts'
import type { Access, Rights } from '../core/rights.ts'
import type { Scope } from '../core/scope.ts'
import { ErrorEnvelope, envelopeOf, errorEnvelope } from './envelope.ts'
import { bodyOf } from './guard.ts'
import { closed } from './schema.ts'

/** Headers that some operations take; `docs/openapi.ts` describes them. */
export type RequestHeader = 'If-None-Match' | 'If-Match' | 'Idempotency-Key'

type Operation = {
  /** The OpenAPI operation id: a verb and a noun. */
  id: string
  summary: string
  description?: string
  tag: string
  /** The success: its `data`, its `message`, and 200 unless stated. */
  data: TSchema
  message?: string
  status?: 200 | 201
  /** Whether it is a list in pages. */
  paged?: boolean
  /** Whether it reads one resource, and answers with an ETag as lists do. */
  conditional?: boolean
  /** Whether it creates something, and takes an Idempotency-Key. */
  idempotent?: boolean
  /** Whether it changes a resource that can be read, and takes an If-Match. */
  guarded?: boolean
  /** Errors beside those that every operation of its kind can give. */
  errors?: ErrorCode[]
  /** Whether it takes a body; where it doesn't, none is read. An optional one that is absent is an empty object. */
  body?: boolean | 'optional'
}

/** What an operation that takes API keys says of them besides: see `Rights`. */
type ForKeys = { scope: Scope | null; confined?: boolean }
type OperationFor<Level extends Access> = Level extends 'user' | 'admin' | 'key' ? Operation & ForKeys : Operation

/** Errors that any operation can give. */
const always: ErrorCode[] = ['bad_request', 'validation_error', 'rate_limited', 'internal', 'unavailable']
const refusals: Record<Access, ErrorCode[]> = {
  user: ['not_authenticated', 'ip_not_allowed', 'two_factor_enrolment_required'],
  enrolling: ['not_authenticated', 'ip_not_allowed', 'forbidden'],
  session: ['not_authenticated', 'ip_not_allowed', 'forbidden', 'two_factor_enrolment_required'],
  admin: ['not_authenticated', 'ip_not_allowed', 'forbidden', 'two_factor_enrolment_required'],
  key: ['not_authenticated', 'ip_not_allowed', 'forbidden', 'two_factor_enrolment_required'],
  admin_session: ['not_authenticated', 'ip_not_allowed', 'forbidden', 'two_factor_enrolment_required'],
}

/** A mistyped parameter is refused, also where a route takes none; one that does overwrites this. */
const noQuery = closed({})

/** For a route that anyone may call. */
export function openOperation(operation: Operation) {
  return {
    ...(operation.body && { parse: parserOf(operation, 'anyone') }),
    query: noQuery,
    detail: { ...describe(operation, []), security: [] },
  }
}

/** For a route behind the guard. One that takes API keys does not compile without the scope that they need. */
export function operation<Level extends Access>(access: Level, operation: OperationFor<Level>) {
  const { scope, confined } = operation as Partial<ForKeys>
  const rights = { access, ...(scope !== undefined && { scope }), ...(confined && { confined }) }
  const guardErrors: ErrorCode[] = [
    ...refusals[access],
    ...(scope ? (['scope_missing'] as const) : []),
    ...(confined ? [] : (['forbidden'] as const)),
  ]
  return {
    auth: rights,
    ...(operation.body && { parse: parserOf(operation, rights) }),
    query: noQuery,
    // OpenAPI 3.1 lets any kind of security name what it needs, not OAuth alone.
    detail: { ...describe(operation, guardErrors, scope), security: [{ bearer: scope ? [scope] : [] }] },
  }
}

function parserOf({ body }: Operation, rights: Rights | 'anyone') {
  const read = bodyOf(rights)
  return body === 'optional' ? async (context: Parameters<typeof read>[0]) => (await read(context)) ?? {} : read
}

function describe(operation: Operation, guardErrors: ErrorCode[], scope?: Scope | null): DocumentDecoration {
  const codes = [
    ...always,
    ...guardErrors,
    ...(operation.body ? (['request_timeout', 'payload_too_large', 'unsupported_media_type'] as const) : []),
    ...(operation.idempotent ? (['conflict'] as const) : []),
    ...(operation.guarded ? (['precondition_failed'] as const) : []),
    ...(operation.errors ?? []),
  ]
  return {
    operationId: operation.id,
    summary: operation.summary,
    ...describeInWords(operation, scope),
    tags: [operation.tag],
    'x-request-headers': requestHeadersOf(operation),
    ...(operation.body === 'optional' && { 'x-optional-body': true }),
    // A TypeBox schema is the JSON Schema that it looks like; OpenAPI's types only spell optional fields otherwise.
    responses: { [`${operation.status ?? 200}`]: success(operation), ...failures(codes) } as object,
  } as DocumentDecoration
}

/** The page of the reference shows no scopes of a bearer: hence in words too. */
function describeInWords({ description }: Operation, scope: Scope | null | undefined): { description?: string } {
  const words = [description, scope && `An API key with scopes needs \`${scope}\`.`].filter(Boolean)
  return words.length > 0 ? { description: words.join(' ') } : {}
}

/** For the document alone: Elysia would copy all headers of a request into an object to check one. */
function requestHeadersOf({ paged = false, conditional = paged, idempotent, guarded }: Operation): RequestHeader[] {
  return [
    ...(conditional ? (['If-None-Match'] as const) : []),
    ...(guarded ? (['If-Match'] as const) : []),
    ...(idempotent ? (['Idempotency-Key'] as const) : []),
  ]
}

function success({ data, message = '', paged }: Operation) {
  return {
    description: message === '' ? 'Success' : message,
    ...(paged && { 'x-paged': true }),
    content: { 'application/json': { schema: envelopeOf(data, message) } },
  }
}

/** One response a status; codes that share a status share its description, and each shows what it looks like. */
function failures(codes: ErrorCode[]) {
  const byStatus = new Map<number, Set<ErrorCode>>()
  for (const code of codes) {
    const { status } = catalogue[code]
    byStatus.set(status, (byStatus.get(status) ?? new Set()).add(code))
  }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      `${status}`,
      {
        description: [...codes].map((code) => `\`${catalogue[code].error}\``).join(' or '),
        content: { 'application/json': { schema: ErrorEnvelope, examples: examplesOf(codes) } },
      },
    ]),
  )
}

function examplesOf(codes: Iterable<ErrorCode>) {
  return Object.fromEntries([...codes].map((code) => [code, { value: errorEnvelope(code) }]))
}
