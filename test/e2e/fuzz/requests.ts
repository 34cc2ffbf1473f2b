/** Requests out of an OpenAPI document: good ones, nearly good ones, and rubbish. */
import fc from 'fast-check'
import type { Operation, Parameter, Schema } from '../../harness/operations.ts'
import { PASSWORD } from '../../harness/panel.ts'

export const CALLERS = ['nobody', 'customer', 'admin', 'key', 'admin key', 'rubbish'] as const
export type Caller = (typeof CALLERS)[number]

export type FuzzedRequest = {
  caller: Caller
  /** May have `{id}` in it, for the id of something that there is when the request is sent. */
  path: string
  /** Encoded, with its question mark; empty for none. */
  query: string
  /** What is sent; undefined for no body. */
  body: string | Uint8Array<ArrayBuffer> | undefined
  headers: Record<string, string>
}

/** Every request that this makes fits the operation's path; the rest is anything from good to absurd. */
export function requestsOf(operation: Operation): fc.Arbitrary<FuzzedRequest> {
  const entitled: Caller = operation.path.startsWith('/api/v1/admin/') ? 'admin' : 'customer'
  return fc.record({
    caller: fc.oneof({ weight: 6, arbitrary: fc.constant(entitled) }, fc.constantFrom(...CALLERS)),
    path: pathOf(operation),
    query: queryOf(operation),
    // No client sends a body with a GET; the fuzzer of the wire does.
    body: operation.method === 'GET' ? fc.constant(undefined) : bodyOf(operation.body),
    headers: headersOf(operation),
  }) as fc.Arbitrary<FuzzedRequest>
}

const ODD_STRINGS = [
  '',
  ' ',
  '\0',
  '\u2028',
  '\ud800',
  'e\u0301',
  '\u212a',
  '\u202e',
  '%00',
  '%zz',
  '../..',
  "' OR 1=1--",
  '{{7*7}}',
  '__proto__',
  'constructor',
  'NaN',
  '-0',
  'true',
  '1e400',
  '9'.repeat(40),
  'a'.repeat(5000),
]
const ODD_NUMBERS = [0, -0, -1, 1.5, 2 ** 31, 2 ** 53, 2 ** 53 + 2, -(2 ** 63), 1e308, 1e21, 5e-324]

const text = (options: fc.StringConstraints = {}) =>
  fc.oneof(fc.string({ unit: 'grapheme', ...options }), fc.string({ unit: 'binary', ...options }))

const rubbish: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(...ODD_STRINGS),
  fc.constantFrom(...ODD_NUMBERS),
  fc.constantFrom(null, true, false, [], {}),
  text(),
  fc.jsonValue({ maxDepth: 3 }),
)

/** A value that a schema allows, as far as the schema says what it allows. */
function good(schema: Schema): fc.Arbitrary<unknown> {
  const [first, ...rest] = [...alternatives(schema)]
  return first ? fc.oneof(first, ...rest) : rubbish
}

function* alternatives(schema: Schema): Generator<fc.Arbitrary<unknown>> {
  if (schema.examples) yield fc.constantFrom(...schema.examples)
  if (schema.enum) return yield fc.constantFrom(...schema.enum)
  if (schema.anyOf) return yield fc.oneof(...schema.anyOf.map(good))
  switch (schema.type) {
    case 'string':
      return yield goodText(schema)
    case 'integer':
      return yield goodInteger(schema)
    case 'boolean':
      return yield fc.boolean()
    case 'array':
      return yield fc.array(good(schema.items ?? {}), { maxLength: Math.min(schema.maxItems ?? 5, 5) })
    case 'object':
      return yield goodObject(schema)
  }
}

function goodText({ format, minLength = 0, maxLength = 100 }: Schema): fc.Arbitrary<string> {
  switch (format) {
    case 'password':
      return fc.oneof(fc.constant(PASSWORD), text({ minLength, maxLength: Math.min(maxLength, 64) }))
    case 'date-time':
      return fc
        .date({ min: new Date('1970-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
        .map((date) => date.toISOString())
    default:
      return fc.oneof(
        fc.emailAddress(),
        fc.domain(),
        text({ minLength, maxLength: Math.min(maxLength, 200) }),
        fc.nat(99).map((n) => `name${n}.example`),
        fc.nat(9).map((n) => `fuzz${n}@example.com`),
      )
  }
}

function goodInteger({ minimum = -10, maximum = 1_000_000 }: Schema): fc.Arbitrary<number> {
  return fc.oneof(
    fc.constantFrom(minimum, maximum),
    fc.integer({ min: Math.max(minimum, -(2 ** 31)), max: Math.min(maximum, 2 ** 31 - 1) }),
    fc.integer({ min: 1, max: 30 }),
  )
}

function goodObject({ properties = {}, required = [] }: Schema): fc.Arbitrary<Record<string, unknown>> {
  const fields = Object.fromEntries(Object.entries(properties).map(([name, child]) => [name, good(child)]))
  return fc.record(fields, { requiredKeys: required })
}

/** One field gone, changed or too many. */
function nearlyGood(schema: Schema): fc.Arbitrary<unknown> {
  const names = Object.keys(schema.properties ?? {})
  const known = names.length > 0 ? fc.constantFrom(...names) : fc.constant('name')
  const strange = fc.oneof(known, fc.constantFrom('__proto__', 'role', 'id', 'constructor', ''), text())
  return fc.tuple(good(schema), known, strange, rubbish, fc.nat(2)).map(([value, field, other, anything, how]) => {
    const body = { ...(value as object) } as Record<string, unknown>
    if (how === 0) delete body[field]
    // Defined, not assigned, so that `__proto__` becomes a field of the JSON.
    else
      Object.defineProperty(body, how === 1 ? field : other, { value: anything, enumerable: true, configurable: true })
    return body
  })
}

/** JSON text that no serialiser would write. */
const brokenJson = (json: string): fc.Arbitrary<string | Uint8Array<ArrayBuffer>> =>
  fc.oneof(
    fc.nat(json.length).map((cut) => json.slice(0, cut)),
    fc.constant(`${json}${json}`),
    fc.constant(`\ufeff${json}`),
    fc.constant(json.replace(/^\{(.+)\}$/, '{$1,$1}')),
    fc.constant(`${'['.repeat(2000)}${']'.repeat(2000)}`),
    fc.tuple(fc.nat(json.length), fc.integer({ min: 0, max: 255 })).map(([at, byte]) => {
      const bytes = Uint8Array.from(Buffer.from(json))
      bytes[at] = byte
      return bytes
    }),
    fc.uint8Array({ maxLength: 200 }) as fc.Arbitrary<Uint8Array<ArrayBuffer>>,
  )

function bodyOf(schema: Schema | undefined): fc.Arbitrary<FuzzedRequest['body']> {
  const whole = (value: unknown) => JSON.stringify(value) ?? 'undefined'
  if (!schema) return fc.oneof({ weight: 8, arbitrary: fc.constant(undefined) }, rubbish.map(whole))
  return fc.oneof(
    { weight: 6, arbitrary: good(schema).map(whole) },
    { weight: 6, arbitrary: nearlyGood(schema).map(whole) },
    rubbish.map(whole),
    good(schema).chain((value) => brokenJson(whole(value))),
    fc.constant(undefined),
  )
}

/** Ids that there are, that there are not, and that are none. */
function pathOf({ path }: Operation): fc.Arbitrary<string> {
  const id = fc.oneof(
    { weight: 12, arbitrary: fc.constant('{id}') },
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 30 }).map(String) },
    fc.constantFrom(...ODD_NUMBERS).map(String),
    fc.constantFrom(...ODD_STRINGS, ...ODD_NUMBERS.map(String)).map(encode),
    text().map(encode),
  )
  return id.map((id) => path.replaceAll(/\{\w+\}/g, id === '' || id === '.' || id === '..' ? '0' : id))
}

/** Percent-encoded; a lone surrogate, which has no encoding, as the bytes that a careless program would send. */
const encode = (value: string) =>
  Buffer.from(value, 'utf8')
    .toString('latin1')
    .replaceAll(/[^A-Za-z0-9]/g, hex)
const hex = (character: string) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`

function queryOf({ parameters }: Operation): fc.Arbitrary<string> {
  const known = parameters.filter((parameter) => parameter.in === 'query')
  const pair = fc.oneof(
    ...known.map((parameter) => ({ weight: 4, arbitrary: pairOf(parameter) })),
    fc.tuple(text(), text()).map(([name, value]) => `${encode(name)}=${encode(value)}`),
    fc.constantFrom('a', '=', '&', '%', '%zz=1', 'limit', 'limit=1&limit=2', 'limit[]=1', 'cursor=%00', '?x', '+=+'),
  )
  const none = { weight: 6, arbitrary: fc.constant('') }
  return fc.oneof(
    none,
    fc.array(pair, { minLength: 1, maxLength: 3 }).map((pairs) => `?${pairs.join('&')}`),
  )
}

function pairOf({ name, schema }: Parameter): fc.Arbitrary<string> {
  return fc
    .oneof({ weight: 4, arbitrary: good(schema) }, rubbish)
    .map((value) => `${name}=${encode(typeof value === 'string' ? value : JSON.stringify(value))}`)
}

function headersOf({ parameters }: Operation): fc.Arbitrary<Record<string, string>> {
  const printable = fc.string({ unit: fc.integer({ min: 0x21, max: 0xff }).map((code) => String.fromCharCode(code)) })
  const known = parameters.filter((parameter) => parameter.in === 'header')
  const documented = Object.fromEntries(
    known.map(({ name, schema }) => [
      name.toLowerCase(),
      fc.oneof(
        good(schema).map((value) => `${value}`.replaceAll(/[^\x20-\xff]/g, '')),
        printable,
      ),
    ]),
  )
  const others = fc.record(
    {
      ...documented,
      accept: fc.constantFrom('text/html', '*/*', '', 'x'),
      'accept-encoding': fc.constantFrom('gzip', 'br;q=2', ''),
      'x-forwarded-for': fc.oneof(fc.ipV4(), fc.ipV6(), printable),
      'x-request-id': printable,
      'user-agent': printable,
      origin: printable,
      range: fc.constantFrom('bytes=0-1', 'bytes=-', 'x'),
      'if-none-match': fc.constantFrom('*', '"x"', 'x'),
    },
    { requiredKeys: [] },
  )
  // Most requests shall fail at their path or their body, and few before.
  const media = fc.oneof(
    { weight: 12, arbitrary: fc.constant({}) },
    fc.constantFrom('application/json;charset=utf-8', 'text/plain', '', 'x').map((type) => ({ 'content-type': type })),
    fc.constantFrom('gzip', 'identity', '').map((encoding) => ({ 'content-encoding': encoding })),
  )
  return fc.tuple(others, media).map(([some, more]) => ({ ...some, ...more }) as Record<string, string>)
}
