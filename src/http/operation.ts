/** Describes a route once: for its handler, for the guard and for the OpenAPI document. */
import type { DocumentDecoration, TSchema } from 'elysia'
import type { Caller, NodeActor } from '../core/actor.ts'
import { catalogue, type ErrorCode } from '../core/errors.ts'
import type { Access, Rights } from '../core/rights.ts'
import type { Scope } from '../core/scope.ts'
import type { OwnLimits } from './body.ts'
import { ErrorEnvelope, envelopeOf, errorEnvelope } from './envelope.ts'
import { bodyOf } from './guard.ts'
import { bodyOfNode } from './node-guard.ts'
import type { RequestContext } from './request-context.ts'
import { closed } from './schema.ts'

/** Headers that only some operations take; `docs/openapi.ts` describes them. */
export type RequestHeader = 'If-None-Match' | 'If-Match' | 'Idempotency-Key' | 'Last-Event-ID' | 'X-Content-SHA256'

/** A body that is not JSON. */
export type UploadedBody = { description: string; maxBytes: number }

type Description<Query, Params, Body> = {
  /** The OpenAPI operation id: a verb and a noun. */
  id: string
  summary: string
  description?: string
  tag: string
  /** The input. A parameter or field that is not named here is refused. */
  query?: Query
  params?: Params
  body?: Body
  /** Whether a request may omit the body, which then counts as an empty object. */
  optionalBody?: boolean
  /** Of its body; by default those of most routes. */
  bodyLimits?: OwnLimits
  /** What its body is, if it takes one as it is instead of JSON; its handler receives it with `ReceiveUpload`. */
  upload?: UploadedBody
  /** What it answers with, if that is a file instead of JSON; its handler sends it. */
  download?: { description: string }
  /** The success: its `data`, its `message`, and 200 unless stated. */
  data: TSchema
  message?: string
  status?: 200 | 201
  /** Whether it returns a list in pages. */
  paged?: boolean
  /** Whether it reads one resource and, as lists do, answers with an ETag. */
  conditional?: boolean
  /** Whether it creates something, and takes an Idempotency-Key. */
  idempotent?: boolean
  /** Whether it changes a resource that can be read, and takes an If-Match. */
  takesIfMatch?: boolean
  /** Whether it answers with server-sent events; `data` is then their text. */
  stream?: boolean
  /** Errors besides those that every operation of its kind can give. */
  errors?: ErrorCode[]
}

/** What an operation that takes API keys must also say: see `Rights`. */
type ForKeys = { scope: Scope | null; keepsToSubscription?: boolean; keepsToSites?: boolean }
type DescriptionFor<Level extends Access, Query, Params, Body> = Description<Query, Params, Body> &
  (Level extends 'user' | 'admin' | 'key' ? ForKeys : unknown)

/** A description as Elysia takes it, and what its handler needs of it. */
type Described<Query, Params, Body> = {
  query: Query
  params: Params
  body: Body
  detail: DocumentDecoration
  /** The `message` of the success. */
  message: string
  /** The status of the success. */
  status: 200 | 201
}

/** The media type of a file whatever it holds. */
export const BYTES = 'application/octet-stream'

const nothing = closed({})
type Nothing = typeof nothing

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

/** What the handler of a public operation receives. */
export type OpenCall<Operation> = {
  context: RequestContext
  query: StaticOf<Operation, 'query'>
  params: StaticOf<Operation, 'params'>
  body: StaticOf<Operation, 'body'>
}
/** What the handler of an operation behind the guard receives. */
export type Call<Operation> = OpenCall<Operation> & { caller: Caller }

type StaticOf<Operation, Part extends string> = Operation extends { [_ in Part]: infer Schema extends TSchema }
  ? Schema['static']
  : unknown

/** For a public route. */
export function openOperation<
  Query extends TSchema = Nothing,
  Params extends TSchema = Nothing,
  Body extends TSchema = TSchema,
>(description: Description<Query, Params, Body>): Described<Query, Params, Body> {
  return {
    ...described(description, bodyOf('anyone')),
    detail: { ...describe(description, []), security: [] },
  }
}

/** For a route behind the guard. One that takes API keys does not compile without the scope they need. */
export function operation<
  Level extends Access,
  Query extends TSchema = Nothing,
  Params extends TSchema = Nothing,
  Body extends TSchema = TSchema,
>(
  access: Level,
  description: DescriptionFor<Level, Query, Params, Body>,
): Described<Query, Params, Body> & { auth: Rights } {
  const { scope, keepsToSubscription, keepsToSites } = description as Partial<ForKeys>
  const rights: Rights = {
    access,
    ...(scope !== undefined && { scope }),
    ...(keepsToSubscription && { keepsToSubscription }),
    ...(keepsToSites && { keepsToSites }),
  }
  const guardErrors: ErrorCode[] = [
    ...refusals[access],
    ...(scope ? (['scope_missing'] as const) : []),
    ...(keepsToSubscription && keepsToSites ? [] : (['forbidden'] as const)),
  ]
  return {
    ...described(description, bodyOf(rights, description.bodyLimits)),
    auth: rights,
    // OpenAPI 3.1 lets every kind of security list what it needs, not only OAuth.
    detail: { ...describe(description, guardErrors, scope), security: [{ bearer: scope ? [scope] : [] }] },
  }
}

/** What the handler of an operation for nodes receives. */
export type NodeCall<Operation> = OpenCall<Operation> & { node: NodeActor }

/** For a route that nodes call, with their tokens, and no user. */
export function nodeOperation<
  Query extends TSchema = Nothing,
  Params extends TSchema = Nothing,
  Body extends TSchema = TSchema,
>(description: Description<Query, Params, Body>): Described<Query, Params, Body> & { node: true } {
  return {
    ...described(description, bodyOfNode(description.bodyLimits)),
    node: true,
    detail: { ...describe(description, ['not_authenticated', 'forbidden']), security: [{ bearer: [] }] },
  }
}

function described<Query, Params, Body, Elysia>(
  description: Description<Query, Params, Body>,
  read: (elysia: Elysia) => Promise<unknown>,
) {
  const { query = nothing, params, body, message = '', status = 200 } = description
  const hooks = {
    query,
    ...(params !== undefined && { params }),
    ...(body !== undefined && { body, parse: parserOf(description, read) }),
    ...(description.upload !== undefined && { parse: 'none' }),
    message,
    status,
  }
  // A part that is missing here is missing in the request too, and no handler asks for it.
  return hooks as Omit<Described<Query, Params, Body>, 'detail'>
}

function parserOf<Elysia>(
  { optionalBody }: Description<unknown, unknown, unknown>,
  read: (elysia: Elysia) => Promise<unknown>,
) {
  return optionalBody ? async (elysia: Elysia) => (await read(elysia)) ?? {} : read
}

type AnyDescription = Description<unknown, unknown, unknown>

function describe(operation: AnyDescription, guardErrors: ErrorCode[], scope?: Scope | null): DocumentDecoration {
  const codes = [
    ...always,
    ...guardErrors,
    ...(operation.body ? (['request_timeout', 'payload_too_large', 'unsupported_media_type'] as const) : []),
    ...(operation.upload === undefined ? [] : (['request_timeout', 'payload_too_large', 'length_required'] as const)),
    ...(operation.idempotent ? (['conflict'] as const) : []),
    ...(operation.takesIfMatch ? (['precondition_failed'] as const) : []),
    ...(operation.errors ?? []),
  ]
  return {
    operationId: operation.id,
    summary: operation.summary,
    ...describeInWords(operation, scope),
    tags: [operation.tag],
    'x-request-headers': requestHeadersOf(operation),
    ...(operation.optionalBody && { 'x-optional-body': true }),
    ...(operation.upload !== undefined && { 'x-upload': operation.upload }),
    // A TypeBox schema is the JSON Schema that it looks like; OpenAPI's types merely spell optional fields differently.
    responses: { [`${operation.status ?? 200}`]: success(operation), ...failures(codes) } as object,
  } as DocumentDecoration
}

/** The reference shows no scopes for bearer tokens, so the text repeats them. */
function describeInWords({ description }: AnyDescription, scope: Scope | null | undefined): { description?: string } {
  const words = [description, scope && `An API key with scopes needs \`${scope}\`.`].filter(Boolean)
  return words.length > 0 ? { description: words.join(' ') } : {}
}

/** Only for the document: to check one header, Elysia would copy all headers of a request into an object. */
function requestHeadersOf(operation: AnyDescription): RequestHeader[] {
  const { paged = false, conditional = paged, idempotent, takesIfMatch, stream, upload } = operation
  return [
    ...(conditional ? (['If-None-Match'] as const) : []),
    ...(takesIfMatch ? (['If-Match'] as const) : []),
    ...(idempotent ? (['Idempotency-Key'] as const) : []),
    ...(stream ? (['Last-Event-ID'] as const) : []),
    ...(upload === undefined ? [] : (['X-Content-SHA256'] as const)),
  ]
}

function success({ data, download, message = '', paged, stream }: AnyDescription) {
  if (download) return { ...download, content: { [BYTES]: { schema: { type: 'string', format: 'binary' } } } }
  if (stream) return { description: 'Server-sent events', content: { 'text/event-stream': { schema: data } } }
  return {
    description: message === '' ? 'Success' : message,
    ...(paged && { 'x-paged': true }),
    content: { 'application/json': { schema: envelopeOf(data, message) } },
  }
}

/** One response per status; codes with the same status share its description, and each has an example. */
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
