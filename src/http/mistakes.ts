/** Explains what is wrong with the fields of a request: one reason per field, and never a value. */
import { Check } from '@sinclair/typebox/value'
import type { TSchema } from 'elysia'
import { AppError } from '../core/errors.ts'
import { checksOf } from './schema.ts'

type Mistake = {
  /** A missing or mistyped parameter is a bad request; a value that breaks a rule is a validation error. */
  code: 'bad_request' | 'validation_error'
  message: string
}

/** Any further mistakes are only counted. */
const MAX_TOLD = 10

/**
 * Walks the schema itself, because the library's iterator reports every reason for every item: 32,000 for one body.
 *
 * @param schema of an object: a body, a query or path parameters
 * @param part which of these it is
 * @returns one error for all mistakes: 400 if any of them is a bad request
 */
export function invalidRequest(schema: TSchema, value: unknown, part: string): AppError {
  const mistakes = mistakesIn(schema, value, part)
  const messages = [...new Set(mistakes.map(({ message }) => message))]
  const more = messages.length - MAX_TOLD
  const told = more > 0 ? [...messages.slice(0, MAX_TOLD), `and ${more} more`] : messages
  const isMalformed = mistakes.some(({ code }) => code === 'bad_request')
  return new AppError(isMalformed ? 'bad_request' : 'validation_error', told.join('; ') || undefined)
}

/** The schema's fields in their declared order, then unknown ones. */
function mistakesIn(schema: TSchema, value: unknown, part: string, within = ''): Mistake[] {
  if (value === undefined || value === null) return [badRequest(`${part}: is required`)]
  if (typeof value !== 'object' || Array.isArray(value)) return [badRequest(`${part}: must be an object`)]
  const fields = value as Record<string, unknown>
  const known: Record<string, TSchema> = schema.properties ?? {}
  const required: string[] = schema.required ?? []
  const mistakes = Object.entries(known).flatMap(([name, property]) => {
    const given = fields[name]
    const field = `${within}${name}`
    if (given === undefined) return required.includes(name) ? [badRequest(`${field}: is required`)] : []
    return mistakeOf(property, given, field) ?? []
  })
  for (const name of Object.keys(fields)) {
    if (!Object.hasOwn(known, name)) mistakes.push(invalid(`${unknownField(name, part, within)}: is not a known field`))
  }
  return mistakes
}

/** @returns the first reason why a field is refused */
function mistakeOf(schema: TSchema, value: unknown, field: string): Mistake | undefined {
  if (schema.type === 'array') return mistakeOfList(schema, value, field)
  if (Check(schema, value)) return undefined
  if (schema.type === 'object') return mistakesIn(schema, value, field, `${field}.`)[0]
  // Of a schema or null, which is no mistake.
  if (schema.anyOf && !checksOf(schema)) return mistakeOf(schema.anyOf[0], value, field)
  const checks = checksOf(schema)
  if (!checks) return badRequest(`${field}: must be ${article(`${schema.type}`)}`)
  if (!checks.isType(value)) return badRequest(`${field}: must be ${checks.type}`)
  const { rule } = checks
  return invalid(`${field}: ${typeof rule === 'string' ? rule : rule(value as string)}`)
}

function mistakeOfList(schema: TSchema, value: unknown, field: string): Mistake | undefined {
  if (!Array.isArray(value)) return badRequest(`${field}: must be an array`)
  const { items, minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema
  if (value.length < minItems) return invalid(`${field}: must have at least ${minItems} entry`)
  if (value.length > maxItems) return invalid(`${field}: must have at most ${maxItems} entries`)
  for (const [i, item] of value.entries()) {
    const mistake = mistakeOf(items, item, `${field}.${i}`)
    if (mistake) return mistake
  }
  // What remains: the schema takes each item, but not all of them together.
  return Check(schema, value) ? undefined : invalid(`${field}: must not have the same entry twice`)
}

const badRequest = (message: string): Mistake => ({ code: 'bad_request', message })
const invalid = (message: string): Mistake => ({ code: 'validation_error', message })

/** An unknown field's name is the caller's text: show it only if it is a plain word. */
function unknownField(name: string, part: string, within: string): string {
  return /^[\w.-]{1,64}$/.test(name) ? `${within}${name}` : part
}

function article(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`
}
