/** Every operation of the OpenAPI document that a panel serves, with references followed, for tests over all of them. */

import { smallArchive } from './archives.ts'

export type Schema = {
  type?: string
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean
  items?: Schema
  anyOf?: Schema[]
  enum?: unknown[]
  const?: unknown
  examples?: unknown[]
  minLength?: number
  maxLength?: number
  maxItems?: number
  minItems?: number
  uniqueItems?: boolean
  minimum?: number
  maximum?: number
  format?: string
  pattern?: string
}

export type Parameter = { name: string; in: 'path' | 'query' | 'header'; required?: boolean; schema: Schema }

export type Operation = {
  id: string
  method: string
  /** With its parameters in braces, as in the document. */
  path: string
  /** Whether it may be called without a credential. */
  isOpen: boolean
  parameters: Parameter[]
  /** The schema of the JSON body, where there is one. */
  body: Schema | undefined
  /** Whether its body is an archive, sent as it is. */
  takesArchive: boolean
  /** The schemas of its successes. */
  answers: Schema[]
}

type Documented = {
  operationId: string
  security?: object[]
  parameters?: Parameter[]
  requestBody?: { content: Body }
  responses: Record<string, { content: Partial<Json> }>
}
type Json = { 'application/json': { schema: Schema } }
type Body = Partial<Json> & { 'application/octet-stream'?: object }
type Document = { paths: Record<string, Record<string, Documented>> }

export async function operationsOf({ origin }: { origin: string }): Promise<Operation[]> {
  const yaml = await (await fetch(`${origin}/api/docs/openapi.yaml`)).text()
  const document = Bun.YAML.parse(yaml) as Document
  const { paths } = follow(document, document) as Document
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, { operationId, security = [], parameters = [], requestBody, responses }]) => ({
        id: operationId,
        method: method.toUpperCase(),
        path,
        isOpen: security.length === 0,
        parameters,
        body: requestBody?.content['application/json']?.schema,
        takesArchive: requestBody?.content['application/octet-stream'] !== undefined,
        answers: Object.entries(responses)
          .filter(([status]) => status < '300')
          .flatMap(([, { content }]) => content['application/json']?.schema ?? []),
      }),
    ),
  )
}

/** A copy without references. The document has no cycles. */
function follow(node: unknown, document: Document): unknown {
  if (Array.isArray(node)) return node.map((item) => follow(item, document))
  if (typeof node !== 'object' || node === null) return node
  if ('$ref' in node && typeof node.$ref === 'string') {
    const names = node.$ref.replace(/^#\//, '').split('/')
    return follow(
      names.reduce<unknown>((parent, name) => (parent as Record<string, unknown>)[name], document),
      document,
    )
  }
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, follow(value, document)]))
}

/** A path with its parameters filled in, all with the same value. */
export const fillPath = (path: string, value: string | number): string => path.replaceAll(/\{\w+\}/g, `${value}`)

/** A body made of the document's own examples; undefined where none is taken. */
export function exampleBody({ body }: Operation): Record<string, unknown> | undefined {
  return body && (exampleOf(body) as Record<string, unknown>)
}

/** What `send` needs for the body of an operation: the document's example, or a small archive. */
export function exampleSent(operation: Operation): { body?: Record<string, unknown>; rawBody?: Bun.BodyInit } {
  if (operation.takesArchive) return { rawBody: smallArchive() }
  const body = exampleBody(operation)
  return body ? { body } : {}
}

function exampleOf(schema: Schema): unknown {
  if (schema.examples) return schema.examples[0]
  if (schema.anyOf) return exampleOf(schema.anyOf[0] ?? {})
  if (schema.items) return [exampleOf(schema.items)]
  const properties = Object.entries(schema.properties ?? {})
  return Object.fromEntries(properties.map(([name, child]) => [name, exampleOf(child)]))
}
