/** The OpenAPI document, made from the schemas that validate the requests. */
import { swagger } from '@elysiajs/swagger'
import { type AnyElysia, Elysia } from 'elysia'
import { version } from '../../package.json' with { type: 'json' }
import { MAX_CONDITION_LENGTH } from '../http/conditional.ts'
import { MAX_KEY_LENGTH } from '../http/idempotency.ts'
import type { RequestHeader } from '../http/operation.ts'

type Json = { [key: string]: unknown }
type Operation = Json & {
  responses: Record<string, Response>
  parameters?: Parameter[]
  requestBody?: Content
  'x-request-headers'?: RequestHeader[]
}
type Response = Json & { headers?: Json; 'x-paged'?: boolean; 'x-tagged'?: boolean }
type Parameter = Json & { schema: Json }
type Content = { content: Record<string, Json> }
type Document = Json & { paths: Record<string, Record<string, Operation>>; components: Json }

const rateLimitHeaders = {
  'X-RateLimit-Limit': { description: 'Maximum requests per time window', example: 120 },
  'X-RateLimit-Remaining': { description: 'Remaining requests', example: 119 },
  'X-RateLimit-Reset': { description: 'Unix timestamp at which the limit resets', example: 1_795_248_000 },
}

const requestHeaders: Record<RequestHeader, { description: string; schema: Json }> = {
  'If-None-Match': {
    description: 'ETags of answers that the client has: 304 when one of them still is the answer',
    schema: { type: 'string', maxLength: MAX_CONDITION_LENGTH },
  },
  'If-Match': {
    description: 'The ETag of what the client has read: 412 when it is not any more what there is',
    schema: { type: 'string', maxLength: MAX_CONDITION_LENGTH },
  },
  'Idempotency-Key': {
    description:
      'Chosen by the client, a UUID for one. For 24 hours a repetition with the same key gets the first answer and creates nothing; 409 with another request.',
    schema: { type: 'string', minLength: 1, maxLength: MAX_KEY_LENGTH + 2 },
  },
}

const documentation = {
  info: {
    title: 'ncp',
    version,
    description: [
      'The REST API of a web-hosting control panel.',
      '',
      'Send `Authorization: Bearer <credential>` with a JWT from `POST /api/v1/auth/login` or an API key from',
      '`POST /api/v1/auth/api-keys`. Every answer is `{data, error, message}`: `error` is stable and for programs,',
      '`message` is for people. Lists come in pages: follow the `Link` header.',
      '',
      'An API key matches `\\bncp_[0-9a-f]{64}\\b`. One that expires is told so in each response: `X-API-Key-Expires` is its',
      'end, and `X-API-Key-Warning` comes for the last fourteen days.',
    ].join('\n'),
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: '/', description: 'This server' }],
  tags: [
    { name: 'Authentication', description: 'Login, sessions, the password and two-factor authentication' },
    { name: 'API keys', description: 'Credentials for scripts' },
    { name: 'Sites', description: 'Websites' },
    { name: 'Subscriptions', description: 'What sites belong to: under `/admin` those of all users' },
    { name: 'Audit log', description: 'What happened to the own account: under `/admin` to all' },
    { name: 'Users', description: 'Accounts and their sessions, for administrators' },
    { name: 'Settings', description: 'Of the whole installation, for administrators' },
    { name: 'Health', description: 'For load balancers and service managers' },
  ],
  components: {
    securitySchemes: {
      bearer: { type: 'http' as const, scheme: 'bearer', description: 'An API key (`ncp_…`) or a JWT' },
    },
  },
}

/**
 * @param routes the described routes; they are not called
 * @returns an OpenAPI 3.1 document
 */
export async function openApiDocument(routes: AnyElysia): Promise<Document> {
  const path = '/document'
  const described = new Elysia()
    .use(swagger({ path: '/unused', specPath: path, excludeStaticFile: false, documentation }))
    .use(routes)
  const response = await described.handle(new Request(`http://localhost${path}`))
  return tidy((await response.json()) as Document)
}

/** What the plugin leaves to do: it writes 3.0, three media types per body, and every schema in full at each use. */
function tidy(document: Document): Document {
  const schemas: Json = {}
  const errors: Json = {}
  for (const path of Object.values(document.paths)) {
    for (const [method, operation] of Object.entries(path)) {
      const { parameters = [] } = operation
      if (parameters.length === 0) delete operation.parameters
      else operation.parameters = parameters.map(tidyParameter)
      if (operation.requestBody) keepJson(operation.requestBody)
      addRequestHeaders(method, operation)
      for (const [status, response] of Object.entries(operation.responses)) {
        addHeaders(status, response)
        if (status >= '400') operation.responses[status] = share(response, errors)
      }
    }
  }
  const paths = Object.fromEntries(
    Object.entries(document.paths)
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([path, operations]) => [path, extractTitled(operations, schemas)]),
  )
  const headers = Object.fromEntries(
    Object.entries(rateLimitHeaders).map(([name, { description, example }]) => [
      name,
      { description, required: true, schema: { type: 'integer', minimum: 0, examples: [example] } },
    ]),
  )
  const components = { ...documentation.components, headers, responses: extractTitled(errors, schemas), schemas }
  return { ...document, openapi: '3.1.0', paths: paths as Document['paths'], components }
}

/** The plugin puts a schema's examples beside it, where OpenAPI wants a map. */
function tidyParameter({ examples, schema, ...parameter }: Parameter): Parameter {
  return { ...parameter, schema: { ...schema, ...(examples !== undefined && { examples }) } }
}

function keepJson(body: Content): void {
  const json = body.content['application/json']
  if (json) body.content = { 'application/json': json }
}

/** The headers that an operation takes, and what it gives to match. */
function addRequestHeaders(method: string, operation: Operation): void {
  const names = operation['x-request-headers'] ?? []
  delete operation['x-request-headers']
  const parameters = names.map((name) => ({ name, in: 'header', required: false, ...requestHeaders[name] }))
  if (parameters.length > 0) operation.parameters = [...(operation.parameters ?? []), ...parameters]
  const success = operation.responses['200']
  if (success && (names.includes('If-None-Match') || (names.includes('If-Match') && method === 'patch'))) {
    success['x-tagged'] = true
  }
  if (names.includes('If-None-Match')) {
    operation.responses['304'] = { description: 'The client has it already', 'x-tagged': true }
  }
}

function addHeaders(status: string, response: Response): void {
  const headers: Json = {}
  for (const name of Object.keys(rateLimitHeaders)) headers[name] = { $ref: `#/components/headers/${name}` }
  if (status === '401') {
    headers['WWW-Authenticate'] = {
      description: 'RFC 6750 challenge, with the reason in `error_description` where the credential was once valid',
      schema: { type: 'string' },
    }
  }
  if (status === '429' || status === '503') {
    headers['Retry-After'] = {
      description: 'Seconds after which to try again',
      schema: { type: 'integer', minimum: 1 },
    }
  }
  if (response['x-paged']) {
    headers.Link = { description: 'The next page, as `rel="next"`; absent on the last', schema: { type: 'string' } }
    delete response['x-paged']
  }
  if (response['x-tagged']) {
    headers.ETag = {
      description: 'Names what was answered, for If-None-Match and If-Match',
      schema: { type: 'string' },
    }
    delete response['x-tagged']
  }
  response.headers = headers
}

/** Puts a response that many operations give into `components`, named by its description. */
function share(response: Response, shared: Json): Response {
  const name = `${response.description}`
    .replaceAll(/\W+(\w)/g, (_, letter: string) => letter.toUpperCase())
    .replaceAll(/\W/g, '')
  shared[name] = response
  return { $ref: `#/components/responses/${name}` } as unknown as Response
}

/** Moves each schema that has a title into `components` and leaves a reference. */
function extractTitled(node: unknown, schemas: Json): unknown {
  if (Array.isArray(node)) return node.map((item) => extractTitled(item, schemas))
  if (typeof node !== 'object' || node === null) return node
  const copy = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, extractTitled(value, schemas)]))
  if (typeof copy.title !== 'string' || copy.type !== 'object') return copy
  schemas[copy.title] = copy
  return { $ref: `#/components/schemas/${copy.title}` }
}
