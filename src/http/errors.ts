/** Turns everything thrown into the envelope; nothing else does. */

import { Elysia, ParseError, ValidationError } from 'elysia'
import type { AuditedActor } from '../core/actor.ts'
import { AppError, catalogue, type ErrorCode } from '../core/errors.ts'
import { Rejected, wrongHeader } from '../core/rejection.ts'
import { isStorageFailure, storageUnavailable } from '../db/failures.ts'
import type { Log } from '../log/log.ts'
import { errorEnvelope } from './envelope.ts'
import { invalidRequest } from './mistakes.ts'
import { type RequestContext, requestContext, senderOf } from './request-context.ts'

/** Made once: in a flood of refusals, the same few bodies repeat. */
const usualBodies = Object.fromEntries(
  (Object.keys(catalogue) as ErrorCode[]).map((code) => [code, JSON.stringify(errorEnvelope(code))]),
) as Record<ErrorCode, string>

export type ErrorOptions = {
  log: Log
  /** Logs failures of the database. */
  storageLog: Log
  /** Called for each request refused for its credential, its rights or the rate limit. */
  refused(actor: AuditedActor, code: ErrorCode, request: { method: string; route: string }): void
}

export function createErrors({ log, storageLog, refused }: ErrorOptions) {
  /** Sets the headers of an error, and returns its status and body. */
  function explain(thrown: unknown, context: RequestContext): { status: number; body: string } {
    const error = toAppError(thrown)
    if (!error) log.error({ requestId: context.requestId, err: thrown }, 'unexpected error')
    else if (isStorageFailure(thrown))
      storageLog.error({ requestId: context.requestId, err: thrown }, 'the database failed')
    const { code, message, headers } = error ?? new AppError('internal')
    const { status, message: usual } = catalogue[code]
    const { request, route, responseHeaders } = context
    if (isRefusal(code, context))
      refused(senderOf(context), code, { method: request.method, route: route?.pattern ?? '' })
    if (code === 'not_authenticated' && hasStrayCredential(context)) context.rejection = wrongHeader
    if (thrown instanceof Rejected) context.rejection = thrown.rejection
    if (status === 401) responseHeaders.set('www-authenticate', challenge(context))
    for (const name in headers) responseHeaders.set(name, headers[name] ?? '')
    return { status, body: message === usual ? usualBodies[code] : JSON.stringify(errorEnvelope(code, message)) }
  }

  return {
    /** For Elysia: answers errors of routes and unknown paths. */
    hook: new Elysia({ name: 'errors' })
      .use(requestContext)
      .onError(({ error: thrown, code, set, context }) => {
        const error = code === 'NOT_FOUND' ? unknownRoute(context.route?.allow) : thrown
        const { status, body } = explain(error, context)
        set.status = status
        return body
      })
      .as('global'),

    /** For errors outside Elysia. */
    refuse(thrown: unknown, context: RequestContext): Response {
      const { status, body } = explain(thrown, context)
      return new Response(body, { status, headers: context.responseHeaders })
    },
  }
}

/** A request without a credential is not recorded as a refusal: it attempted nothing. */
function isRefusal(code: ErrorCode, { credentialSent }: RequestContext): boolean {
  if (code === 'not_authenticated') return credentialSent
  const { status } = catalogue[code]
  return status === 403 || status === 429
}

function unknownRoute(allowed: string | undefined): AppError {
  return allowed === undefined
    ? new AppError('not_found', 'No such path; see /api/docs')
    : new AppError('method_not_allowed', undefined, { allow: allowed })
}

/** @returns undefined for an unexpected error */
function toAppError(thrown: unknown): AppError | undefined {
  if (thrown instanceof AppError) return thrown
  if (isStorageFailure(thrown)) return storageUnavailable(thrown)
  if (thrown instanceof ParseError) {
    return thrown.cause instanceof AppError ? thrown.cause : new AppError('bad_request', 'The body cannot be read')
  }
  if (thrown instanceof ValidationError) {
    const { validator, value, type } = thrown
    return invalidRequest('Schema' in validator ? validator.Schema() : validator, value, type)
  }
  return undefined
}

/** Where other APIs take a key. Reading it there would make each of these headers one more place to guard. */
const STRAY_HEADERS = ['x-api-key', 'api-key', 'x-auth-token']

function hasStrayCredential({ credentialSent, request: { headers } }: RequestContext): boolean {
  return !credentialSent && STRAY_HEADERS.some((name) => headers.has(name))
}

/** RFC 6750 §3.1: an error code only where a credential was sent. */
function challenge({ rejection }: RequestContext): string {
  if (!rejection) return 'Bearer realm="ncp"'
  const described = rejection.description === undefined ? '' : `, error_description="${rejection.description}"`
  return `Bearer realm="ncp", error="invalid_token"${described}`
}
