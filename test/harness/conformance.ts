/** Holds a response, its body and its headers, against the OpenAPI document that the same server serves. */
import Ajv from 'ajv/dist/2020'
import addFormats from 'ajv-formats'

type Operation = { responses: Record<string, Reference | Response> }
type Reference = { $ref: string }
type Response = { headers?: Record<string, object>; content?: { 'application/json': { schema: object } } }
export type OpenApi = {
  paths: Record<string, Record<string, Operation>>
  components: { responses: Record<string, Response> }
}

export type Conformance = {
  /** @throws Error that says how the response differs from the document */
  check(method: string, path: string, status: number, headers: Headers, body: unknown): void
  readonly checked: number
}

export function createConformance(document: OpenApi): Conformance {
  const ajv = new Ajv({ strict: false, allErrors: true })
  addFormats(ajv)
  ajv.addSchema(document, 'openapi')
  const patterns = Object.keys(document.paths)
    .sort((a, b) => a.split('{').length - b.split('{').length)
    .map((path) => ({ path, pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`) }))
  let checked = 0

  /** Those that the document names; of these, only Link may be absent: on the last page. */
  function headersOf(response: Reference | Response): string[] {
    const shared = '$ref' in response ? document.components.responses[response.$ref.split('/').at(-1) ?? ''] : response
    return Object.keys(shared?.headers ?? {})
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
      const missing = headersOf(operation.responses[status]).filter((name) => name !== 'Link' && !headers.has(name))
      if (missing.length > 0) throw new Error(`${method} ${template} ${status} lacks ${missing.join(', ')}`)
      if (body === undefined) {
        if ('content' in operation.responses[status]) throw new Error(`${method} ${template} ${status} has no body`)
        checked++
        return
      }
      const validate = ajv.compile({ $ref: `openapi#${schemaPointer(template, method, status, operation)}` })
      if (!validate(body)) {
        throw new Error(
          `${method} ${template} ${status}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(body)}`,
        )
      }
      checked++
    },
    get checked() {
      return checked
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
