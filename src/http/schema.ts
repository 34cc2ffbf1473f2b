/** The building blocks of every request and response schema. Each states its own rule, for the error message. */
import { Kind, TypeRegistry } from '@sinclair/typebox'
import { Check } from '@sinclair/typebox/value'
import { type TSchema, t } from 'elysia'
import { EMAIL_LENGTH, isEmailAddress } from '../core/email.ts'
import { parseTimestamp } from '../core/timestamp.ts'

/** The part of a schema that stays out of the OpenAPI document. */
const checks = Symbol('ncp.checks')

type Checks = {
  /** The type the value must have; a failure is 400. */
  type: string
  isType(value: unknown): boolean
  /** The rule a value of that type must also obey; a failure is 422. */
  rule: Rule
  obeys(value: never): boolean
}

/** Worded so that it never repeats the value; a function picks which of several rules a value breaks. */
type Rule = string | ((value: string) => string)

type CheckedSchema = TSchema & { [checks]: Checks }

// Our own kind, because TypeBox counts UTF-16 units where JSON Schema and the contract count characters.
TypeRegistry.Set<CheckedSchema>('Checked', (schema, value) => {
  const { isType, obeys } = schema[checks]
  return isType(value) && obeys(value as never)
})

// And TypeBox's search for duplicates costs more than a request should: it hashes strings with BigInts, byte by byte.
TypeRegistry.Set<ListSchema>('List', ({ items, minItems = 0, maxItems }, value) => {
  if (!Array.isArray(value) || value.length < minItems || value.length > maxItems) return false
  return value.every((item) => Check(items, item)) && new Set(value).size === value.length
})

type ListSchema = TSchema & { items: TSchema; minItems?: number; maxItems: number }

/** Strings or numbers, without duplicates. */
export function list<T extends string | number>(
  items: ReturnType<typeof checked<T>>,
  options: { minItems?: number; maxItems: number; examples: NoInfer<T>[][]; description?: string },
) {
  const jsonSchema = { type: 'array', items, uniqueItems: true, ...options }
  return t.Unsafe<T[]>({ ...jsonSchema, [Kind]: 'List' } as Parameters<typeof t.Unsafe>[0])
}

function checked<T>(jsonSchema: Record<string, unknown>, check: Checks) {
  return t.Unsafe<T>({ ...jsonSchema, [Kind]: 'Checked', [checks]: check } as Parameters<typeof t.Unsafe>[0])
}

/** The type and rule that a schema states for error messages, if the schema is one of ours. */
export function checksOf(schema: TSchema): Checks | undefined {
  return (schema as Partial<CheckedSchema>)[checks]
}

const isString = (value: unknown): value is string => typeof value === 'string'

/** Strings whose length counts in characters (code points), as in JSON Schema. */
export function text(options: {
  minLength?: number
  maxLength: number
  examples?: string[]
  description?: string
  format?: string
  rule?: Rule
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
      obeys: (value: string) => hasLength(value, minLength, options.maxLength) && (obeys?.(value) ?? true),
    },
  )
}

/** In characters, of which a string has at least half as many as UTF-16 units: long ones need not be counted. */
function hasLength(value: string, minimum: number, maximum: number): boolean {
  if (value.length > 2 * maximum) return false
  const length = [...value].length
  return length >= minimum && length <= maximum
}

const LABEL = { minLength: 1, maxLength: 100 }

/**
 * A label for people: 1 to 100 characters, without control characters and halves of surrogate pairs. Characters that
 * reverse text (CVE-2021-42574) or are invisible could make it pass for another label, in a list or on a terminal.
 */
export function label(examples: string[]) {
  return text({
    ...LABEL,
    examples,
    rule: (value) =>
      labelFaults.find(({ has }) => has(value))?.rule ?? 'must be 1 to 100 characters, without control characters',
    obeys: (value) => value.isWellFormed() && !/\p{Cc}/u.test(value) && !labelFaults.some(({ has }) => has(value)),
  })
}

const labelFaults = [
  {
    rule: 'must not hold characters that change the direction or the line of text',
    has: (value: string) => /[\u202a-\u202e\u2066-\u2069\p{Zl}\p{Zp}]/u.test(value),
  },
  {
    rule: 'must hold a visible character',
    has: (value: string) => value !== '' && /^[\p{White_Space}\p{Default_Ignorable_Code_Point}\u2800]+$/u.test(value),
  },
]

/** A string from a fixed list. */
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

/** A time in a request: RFC 3339 with an offset and a real calendar date. */
export function timestampIn() {
  const rule = 'must be an RFC 3339 date-time with an offset, such as 2027-12-31T23:59:59Z'
  return text({
    maxLength: 64,
    format: 'date-time',
    examples: ['2027-12-31T23:59:59Z'],
    // In a query that was not encoded, the plus of the offset has become a space.
    rule: (value) => (/^\S+ \d\d:\d\d$/.test(value) ? `${rule}; in a URL, write the + of an offset as %2B` : rule),
    obeys: (value) => parseTimestamp(value) !== undefined,
  })
}

/** A time in a response: RFC 3339 in UTC. */
export const timestampOut = () => t.String({ format: 'date-time', examples: ['2026-11-21T08:00:00.000Z'] })

/** In a response; see `nullableIn`. */
export const nullable = <Schema extends TSchema>(schema: Schema) => t.Union([schema, t.Null()])

/** In a request: what one of our schemas takes, or null. A TypeBox union has no message for a value that is neither. */
export function nullableIn<T>(
  schema: ReturnType<typeof checked<T>>,
  options: { examples: (T | null)[]; description: string },
) {
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
export function integer(options: { minimum: number; maximum: number; example: number; description?: string }) {
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

/** A whole number in a response. Not `t.Integer`, which Elysia widens to accept text. */
export const integerOut = (options: { minimum: number; examples: number[]; description?: string }) =>
  t.Unsafe<number>({ type: 'integer', ...options })

export const idOut = () => integerOut({ minimum: 1, examples: [1] })

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

/** An id in a path. One that no row can have is a 404, like every unknown id. */
export const idParams = (description: string) => closed({ id: integerText({ description }) })

/** The number behind an `integerText`. Beyond 2^53 it matches no row: see `idParams`. */
export function toInteger(value: string): number {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : -1
}

/** An object without other fields: a mistyped `expire_at` must not create a key that never expires. */
export const closed = <Properties extends Record<string, TSchema>>(properties: Properties) =>
  t.Object(properties, { additionalProperties: false })

/** An email address. */
export function emailAddress() {
  return text({
    maxLength: EMAIL_LENGTH,
    examples: ['ada@example.com'],
    rule: `must be an email address of at most ${EMAIL_LENGTH} characters, in ASCII`,
    // Spaces around it are a slip of the keyboard or of pasting; a line break is not.
    obeys: (value) => isEmailAddress(/[\r\n]/.test(value) ? value : value.trim()),
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
