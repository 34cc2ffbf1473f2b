/** The building blocks of every request and response schema. Each says its own rule, for the error message. */
import { Kind, TypeRegistry } from '@sinclair/typebox'
import { type TSchema, t } from 'elysia'
import { EMAIL_LENGTH, isEmailAddress } from '../core/email.ts'
import { parseTimestamp } from '../core/timestamp.ts'

/** The part of a schema that stays out of the OpenAPI document. */
const checks = Symbol('ncp.checks')

type Checks = {
  /** What the value must be at all; a failure is 400. */
  type: string
  isType(value: unknown): boolean
  /** What a value of the type must obey besides; a failure is 422. */
  rule: string
  obeys(value: never): boolean
}

type CheckedSchema = TSchema & { [checks]: Checks }

// A kind of our own, because TypeBox counts UTF-16 units where JSON Schema and the contract count characters.
TypeRegistry.Set<CheckedSchema>('Checked', (schema, value) => {
  const { isType, obeys } = schema[checks]
  return isType(value) && obeys(value as never)
})

function checked<T>(jsonSchema: Record<string, unknown>, check: Checks) {
  return t.Unsafe<T>({ ...jsonSchema, [Kind]: 'Checked', [checks]: check } as Parameters<typeof t.Unsafe>[0])
}

/** The type and rule that a schema states for error messages, if it is one of ours. */
export function checksOf(schema: TSchema): Checks | undefined {
  return (schema as Partial<CheckedSchema>)[checks]
}

const isString = (value: unknown): value is string => typeof value === 'string'

/** Strings of which the length counts in characters (code points), as in JSON Schema. */
export function text(options: {
  minLength?: number
  maxLength: number
  examples?: string[]
  description?: string
  format?: string
  rule?: string
  obeys?(value: string): boolean
}) {
  const { rule, obeys, minLength = 0, ...jsonSchema } = options
  const lengthRule =
    minLength > 0
      ? `must be ${minLength} to ${options.maxLength} characters`
      : `must be at most ${options.maxLength} characters`
  return checked<string>(
    { type: 'string', ...jsonSchema, ...(minLength > 0 && { minLength }) },
    {
      type: 'a string',
      isType: isString,
      rule: rule ?? lengthRule,
      obeys: (value: string) => {
        const length = [...value].length
        return length >= minLength && length <= options.maxLength && (obeys?.(value) ?? true)
      },
    },
  )
}

/** A label for people: 1 to 100 characters, none of them a control character or half a surrogate pair. */
export function label(examples: string[]) {
  return text({
    minLength: 1,
    maxLength: 100,
    examples,
    rule: 'must be 1 to 100 characters, without control characters',
    obeys: (value) => value.isWellFormed() && !/\p{Cc}/u.test(value),
  })
}

/** A string out of a fixed list. */
export function choice<const Values extends readonly string[]>(values: Values, description?: string) {
  return checked<Values[number]>(
    {
      type: 'string',
      enum: [...values],
      examples: values.slice(0, 1),
      ...(description !== undefined && { description }),
    },
    {
      type: 'a string',
      isType: isString,
      rule: `must be one of ${values.join(', ')}`,
      obeys: (value: string) => values.includes(value),
    },
  )
}

/** A time in a request: RFC 3339 with an offset, the calendar checked. */
export function timestampIn() {
  return text({
    maxLength: 40,
    format: 'date-time',
    examples: ['2027-12-31T23:59:59Z'],
    rule: 'must be an RFC 3339 date-time with an offset, such as 2027-12-31T23:59:59Z',
    obeys: (value) => parseTimestamp(value) !== undefined,
  })
}

/** A time in a response: RFC 3339 in UTC. */
export const timestampOut = () => t.String({ format: 'date-time', examples: ['2026-11-21T08:00:00.000Z'] })

/** In a response; see `nullableIn`. */
export const nullable = <Schema extends TSchema>(schema: Schema) => t.Union([schema, t.Null()])

/** In a request: what one of our schemas takes, or null. A union of TypeBox has no words for what is neither. */
export function nullableIn<T>(schema: ReturnType<typeof checked<T>>, options: { examples: T[]; description: string }) {
  const { type, isType, rule, obeys } = (schema as unknown as CheckedSchema)[checks]
  return checked<T | null>(
    { anyOf: [schema, t.Null()], ...options },
    {
      type: `${type} or null`,
      isType: (value) => value === null || isType(value),
      rule,
      obeys: (value: T | null) => value === null || obeys(value as never),
    },
  )
}

/** True or false in a body. */
export const flag = (description?: string) =>
  t.Boolean({ examples: [true], ...(description !== undefined && { description }) })

/** A whole number in a body. */
export function whole(options: { minimum: number; maximum: number; example: number; description?: string }) {
  const { minimum, maximum, example, description } = options
  return checked<number>(
    { type: 'integer', minimum, maximum, examples: [example], ...(description !== undefined && { description }) },
    {
      type: 'an integer',
      isType: Number.isInteger,
      rule: `must be from ${minimum} to ${maximum}`,
      obeys: (value: number) => value >= minimum && value <= maximum,
    },
  )
}

/** An id in a body. One that no row can have is an unknown id, not a broken rule. */
export function idIn(examples: number[]) {
  return checked<number>(
    { type: 'integer', format: 'int64', examples },
    { type: 'an integer', isType: Number.isInteger, rule: '', obeys: () => true },
  )
}

/** A whole number in a response. Not `t.Integer`, which Elysia widens to take text as well. */
export const wholeOut = (options: { minimum: number; examples: number[]; description?: string }) =>
  t.Unsafe<number>({ type: 'integer', ...options })

export const idOut = () => wholeOut({ minimum: 1, examples: [1] })

/** A whole number in a path or a query, where everything is text; read it with `toInteger`. */
export function integerText(options: { minimum?: number; maximum?: number; description?: string }) {
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = options
  return checked<string>(
    { type: 'integer', ...options },
    {
      type: 'an integer',
      isType: (value) => isString(value) && /^-?\d{1,64}$/.test(value),
      rule: `must be from ${minimum} to ${maximum}`,
      obeys: (value: string) => Number(value) >= minimum && Number(value) <= maximum,
    },
  )
}

/** An id in a path. One that no row can have is 404, like every unknown id. */
export const idParams = (description: string) => closed({ id: integerText({ description }) })

/** The number behind an `integerText`. Beyond 2^53 it names no row: see `idParams`. */
export function toInteger(value: string): number {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : -1
}

/** An object that takes no other fields: a mistyped `expire_at` must not make an everlasting key. */
export const closed = <Properties extends Record<string, TSchema>>(properties: Properties) =>
  t.Object(properties, { additionalProperties: false })

/** An email address. */
export function emailAddress() {
  return text({
    maxLength: EMAIL_LENGTH,
    examples: ['ada@example.com'],
    rule: `must be an email address of at most ${EMAIL_LENGTH} characters, in ASCII`,
    obeys: isEmailAddress,
  })
}

/** A code that proves the second factor. */
export function totpCode() {
  return text({
    maxLength: 64,
    examples: ['123456'],
    description: 'Six digits of the authenticator app, or a recovery code',
  })
}
