/** Whatever is thrown becomes the envelope here, and nowhere else. */

import { ValueErrorType } from '@sinclair/typebox/errors'
import { Elysia, ParseError, type TSchema, ValidationError } from 'elysia'
import { AppError, catalogue } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { checksOf } from './schema.ts'
import { type Visit, visit } from './visit.ts'

export type ErrorOptions = {
  log: Log
  /** The methods that a path takes, in the form of an Allow header; undefined for an unknown path. */
  allow(path: string): string | undefined
}

export function errors({ log, allow }: ErrorOptions) {
  return new Elysia({ name: 'errors' })
    .use(visit)
    .onError(({ error: thrown, code, set, path, visit }) => {
      const error = code === 'NOT_FOUND' ? unknownRoute(allow(path)) : toAppError(thrown)
      if (!error) {
        log.error({ requestId: visit.requestId, path, err: thrown }, 'unexpected error')
      }
      const { code: cause, message, headers } = error ?? new AppError('internal')
      const { status, error: text } = catalogue[cause]
      set.status = status
      if (status === 401) set.headers['www-authenticate'] = challenge(visit)
      Object.assign(set.headers, headers)
      return { data: null, error: text, message }
    })
    .as('global')
}

function unknownRoute(allowed: string | undefined): AppError {
  return allowed === undefined
    ? new AppError('not_found', 'No such path; see /api/docs')
    : new AppError('method_not_allowed', undefined, { allow: allowed })
}

/** @returns undefined for what nobody foresaw */
function toAppError(thrown: unknown): AppError | undefined {
  if (thrown instanceof AppError) return thrown
  if (thrown instanceof ParseError) {
    return thrown.cause instanceof AppError ? thrown.cause : new AppError('bad_request', 'The body can not be read')
  }
  if (thrown instanceof ValidationError) return invalidRequest(thrown)
  return undefined
}

/** RFC 6750 §3.1: an error code only where a credential was sent. */
function challenge({ credentialSent, principal }: Visit): string {
  return credentialSent && !principal ? 'Bearer realm="ncp", error="invalid_token"' : 'Bearer realm="ncp"'
}

/** A missing or mistyped parameter is 400 and wins; a value that breaks a rule is 422. Values are never repeated. */
function invalidRequest(thrown: ValidationError): AppError {
  const { validator } = thrown
  const issues = 'Errors' in validator ? [...validator.Errors(thrown.value)] : []
  const found = issues.map((issue) => describe(issue, thrown.type))
  const first = found.find((issue) => issue.code === 'bad_request') ?? found[0]
  return first ? new AppError(first.code, first.message) : new AppError('validation_error')
}

type Issue = { code: 'bad_request' | 'validation_error'; message: string }
type ValueIssue = { type: ValueErrorType; schema: TSchema; path: string; value: unknown }

/** @param part what the schema is of: body, query or params */
function describe({ type, schema, path, value }: ValueIssue, part: string): Issue {
  const field = path === '' ? part : path.slice(1).replaceAll('/', '.')
  if (type === ValueErrorType.ObjectAdditionalProperties) {
    return { code: 'validation_error', message: `${plainWord(field) ?? part}: is not a known field` }
  }
  if (value === undefined || (path === '' && value === null)) {
    return { code: 'bad_request', message: `${field}: is required` }
  }
  const checks = checksOf(schema)
  if (checks) {
    return checks.isType(value)
      ? { code: 'validation_error', message: `${field}: ${checks.rule}` }
      : { code: 'bad_request', message: `${field}: must be ${checks.type}` }
  }
  switch (type) {
    case ValueErrorType.ArrayMaxItems:
      return { code: 'validation_error', message: `${field}: must have at most ${schema.maxItems} entries` }
    case ValueErrorType.ArrayUniqueItems:
      return { code: 'validation_error', message: `${field}: must not have the same entry twice` }
    default:
      return { code: 'bad_request', message: `${field}: must be ${article(`${schema.type}`)}` }
  }
}

/** An unknown field's name is the caller's text: show it only while it is a plain word. */
function plainWord(name: string): string | undefined {
  return /^[\w.-]{1,64}$/.test(name) ? name : undefined
}

function article(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`
}
