/**
 * Holds a response, its body and its headers, against the OpenAPI document that every panel serves. The document leaves
 * responses open for what later versions add; here they are closed, so that a field or a value that it does not name is an error.
 */
import Ajv, { type ValidateFunction } from 'ajv/dist/2020'
import addFormats from 'ajv-formats'
import { routesToDescribe } from '../../src/app.ts'
import { openApiDocument } from '../../src/docs/openapi.ts'

type Operation = { responses: Record<string, Reference | Response> }
type Reference = { $ref: string }
type Response = { headers?: Record<string, Reference>; content?: { 'application/json': { schema: object } } }
type OpenApi = {
  paths: Record<string, Record<string, Operation>>
  components: { responses: Record<string, Response>; headers: Record<string, { required?: boolean }> }
}

/** Headers that mean something to a client of the API: none of these is sent where the document does not name it. */
const MEANINGFUL = /^(x-|ratelimit|location$|link$|etag$|retry-after$|www-authenticate$|idempotent-replayed$)/
/** Sent with everything, whatever is served, and named by other standards. */
const OF_ALL = 'x-content-type-options'

export type Conformance = {
  /** @throws Error that says how the response differs from the document */
  check(method: string, path: string, status: number, headers: Headers, body: unknown): void
}

let conformance: Promise<Conformance> | undefined

/** Made once a process: every panel serves the same document, whatever its settings, as `docs/openapi.test.ts` shows. */
export function sharedConformance(): Promise<Conformance> {
  conformance ??= openApiDocument(routesToDescribe()).then((document) =>
    createConformance(JSON.parse(JSON.stringify(document)) as OpenApi),
  )
  return conformance
}

function createConformance(document: OpenApi): Conformance {
  const ajv = new Ajv({ strict: false, allErrors: true })
  addFormats(ajv)
  ajv.addSchema(closed(document) as object, 'openapi')
  const patterns = Object.keys(document.paths)
    .sort((a, b) => a.split('{').length - b.split('{').length)
    .map((path) => ({ path, pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`) }))
  const validators = new Map<string, ValidateFunction>()

  /** Compiled once: it takes longer than the request. */
  function validatorOf(pointer: string): ValidateFunction {
    const validator = validators.get(pointer) ?? ajv.compile({ $ref: `openapi#${pointer}` })
    validators.set(pointer, validator)
    return validator
  }

  /** @returns what is wrong with the headers of a response */
  function headerFaults(response: Reference | Response, headers: Headers): string[] {
    const shared = '$ref' in response ? document.components.responses[nameOf(response)] : response
    const documented = Object.entries(shared?.headers ?? {})
    const names = new Set(documented.map(([name]) => name.toLowerCase()))
    return [
      ...documented
        .filter(([name, reference]) => document.components.headers[nameOf(reference)]?.required && !headers.has(name))
        .map(([name]) => `lacks ${name}`),
      ...[...headers.keys()]
        .filter((name) => MEANINGFUL.test(name) && name !== OF_ALL && !names.has(name))
        .map((name) => `has ${name}, which is not documented`),
    ]
  }

  return {
    check(method, path, status, headers, body) {
      const template = patterns.find(({ pattern }) => pattern.test(path))?.path
      const operation = template && document.paths[template]?.[method.toLowerCase()]
      // Paths and methods that don't exist are not in the document.
      if (!operation) {
        if (status < 400) throw new Error(`${method} ${path} gave ${status} and is not documented`)
        return
      }
      if (!operation.responses[status]) throw new Error(`${method} ${template} gave ${status}, which is not documented`)
      const faults = headerFaults(operation.responses[status], headers)
      if (faults.length > 0) throw new Error(`${method} ${template} ${status} ${faults.join(', ')}`)
      if (body === undefined) {
        if ('content' in operation.responses[status]) throw new Error(`${method} ${template} ${status} has no body`)
        return
      }
      const validate = validatorOf(schemaPointer(template, method, status, operation))
      if (!validate(body)) {
        throw new Error(
          `${method} ${template} ${status}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(body)}`,
        )
      }
    },
  }
}

function schemaPointer(template: string, method: string, status: number, { responses }: Operation): string {
  const response = responses[status]
  const base =
    response && '$ref' in response
      ? response.$ref.slice(1)
      : `/paths/${pointerPart(template)}/${method.toLowerCase()}/responses/${status}`
  return `${base}/content/application~1json/schema`
}

const pointerPart = (part: string) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))

const nameOf = ({ $ref }: Reference) => $ref.split('/').at(-1) ?? ''

/** A copy in which objects have no other properties, and strings no other values, than the document names. */
function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed)
  if (typeof node !== 'object' || node === null) return node
  const copy = Object.fromEntries(Object.entries(node).map(([name, child]) => [name, closed(child)]))
  if (copy.type === 'object' && copy.properties && !('additionalProperties' in copy)) copy.additionalProperties = false
  if ('x-extensible-enum' in copy) copy.enum = copy['x-extensible-enum']
  return copy
}
