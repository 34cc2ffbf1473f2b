/** The OpenAPI document, made from the schemas that validate the requests. */
import { swagger } from '@elysiajs/swagger'
import { type AnyElysia, Elysia } from 'elysia'
import { version } from '../../package.json' with { type: 'json' }
import { BYTES, type RequestHeader, type UploadedBody } from '../http/operation.ts'
import { headerComponents, headersOf, requestHeaders } from './headers.ts'
import { extractTitled, openSchema } from './schemas.ts'

type Json = { [key: string]: unknown }
type Operation = Json & {
  operationId: string
  tags: string[]
  responses: Record<string, Response>
  parameters?: Parameter[]
  requestBody?: Content & { required?: boolean }
  'x-request-headers'?: RequestHeader[]
  'x-optional-body'?: boolean
  'x-upload'?: UploadedBody
}
type Response = Json & { headers?: Json; content?: Media; 'x-paged'?: boolean }
type Media = Record<string, { schema: Json; examples?: Json }>
type Parameter = Json & { schema: Json }
type Content = { content: Media; description?: string }
type Document = Json & { paths: Record<string, Record<string, Operation>>; components: Json }

const documentation = {
  info: {
    title: 'ncp',
    version,
    description: [
      'The REST API of a web-hosting control panel.',
      '',
      'Send `Authorization: Bearer <credential>` with a JWT from `POST /api/v1/auth/login` or an API key from',
      '`POST /api/v1/auth/api-keys`. Every response is `{data, error, message}`: `error` is stable and for programs,',
      '`message` is for people. Lists come in pages: follow the `Link` header.',
      '',
      'An API key matches `\\bncp_[0-9a-f]{64}\\b`. If it expires, each response says when in',
      '`X-API-Key-Expires`, and `X-API-Key-Warning` is added during the last fourteen days.',
      '',
      'Requests are closed: an unknown field is refused. Responses are open: later versions may add fields, and',
      'new values where the known ones are listed. A method that a path does not support is answered with 405 and an `Allow` header.',
      '',
      'A change that is answered with 503 may or may not have been made. Send an `Idempotency-Key` with requests that create something, and',
      'repeat them with the same key; check before you repeat anything else.',
    ].join('\n'),
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: '/', description: 'This server' }],
  tags: [
    { name: 'Authentication', description: 'Login, sessions, the password and two-factor authentication' },
    { name: 'API keys', description: 'Credentials for scripts' },
    { name: 'Sites', description: 'Websites' },
    { name: 'Deployments', description: 'What a site serves: uploaded archives, and what became of them' },
    { name: 'Logs', description: 'What visitors asked of a site, and what went wrong' },
    { name: 'Certificates', description: 'HTTPS for sites: certificates that you upload, and another try at ordering' },
    { name: 'Subscriptions', description: 'What sites belong to; under `/admin`, those of all users' },
    { name: 'Environment', description: 'Variables that the PHP of a site finds in its environment' },
    { name: 'SSH keys', description: 'Who may read and change the files of a subscription, over SFTP' },
    { name: 'Audit log', description: 'What happened to your account; under `/admin`, to all accounts' },
    { name: 'Users', description: 'Accounts and their sessions, for administrators' },
    { name: 'Nodes', description: 'Other machines that serve sites' },
    { name: 'Settings', description: 'Settings of the whole installation, for administrators' },
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

/** Fixes what the plugin leaves: it writes 3.0, three media types per body, and every schema in full at each use. */
function tidy(document: Document): Document {
  const schemas: Json = {}
  const errors: Json = {}
  const ordered = inOrder(document.paths)
  // Paths outside the API first: their errors are the ones that every operation has.
  for (const [, operations] of ordered.toSorted(([a], [b]) => Number(isOfApi(a)) - Number(isOfApi(b)))) {
    for (const [method, operation] of Object.entries(operations)) {
      tidyRequest(operation)
      tidyResponses(method, operation, errors)
    }
  }
  const paths = Object.fromEntries(ordered.map(([path, operations]) => [path, extractTitled(operations, schemas)]))
  const responses = extractTitled(errors, schemas)
  const components = { ...documentation.components, headers: headerComponents, responses, schemas }
  const { info, servers, tags } = document
  // In reading order.
  return { openapi: '3.1.0', info, servers, tags, paths: paths as Document['paths'], components }
}

const isOfApi = (path: string) => path.startsWith('/api/')

/** What a reader calls first, whichever feature it belongs to. */
const FIRST = ['/api/v1/auth/login', '/api/v1/auth/logout', '/api/v1/auth/me']

/** In reading order: by tag, then as the routes are declared. */
function inOrder(paths: Document['paths']): [string, Record<string, Operation>][] {
  const order = [...new Set([...FIRST, ...Object.keys(paths)])]
  const tags = documentation.tags.map(({ name }) => name)
  const rank = (operations: Record<string, Operation>) => tags.indexOf(Object.values(operations)[0]?.tags[0] ?? '')
  return Object.entries(paths).sort(
    ([pathA, a], [pathB, b]) => rank(a) - rank(b) || order.indexOf(pathA) - order.indexOf(pathB),
  )
}

function tidyRequest(operation: Operation): void {
  const { parameters = [], requestBody, operationId, 'x-request-headers': names = [] } = operation
  const headers = names.map((name) => ({ name, in: 'header', required: false, ...requestHeaders[name] }))
  operation.parameters = [...parameters.map(tidyParameter), ...headers]
  if (operation.parameters.length === 0) delete operation.parameters
  const { 'x-upload': upload } = operation
  if (upload !== undefined) {
    const { description, maxBytes } = upload
    // Its type is said twice, since generators of clients know the older spelling.
    const schema = { type: 'string', format: 'binary', contentMediaType: BYTES, maxLength: maxBytes }
    operation.requestBody = { description, required: true, content: { [BYTES]: { schema } } }
    delete operation['x-upload']
  }
  if (!requestBody) return
  const json = requestBody.content['application/json']
  if (json)
    requestBody.content = {
      'application/json': { schema: { ...json.schema, title: `${capital(operationId)}Request` } },
    }
  requestBody.required = !operation['x-optional-body']
  delete operation['x-optional-body']
}

/** The plugin puts a schema's examples beside it, where OpenAPI wants a map. */
function tidyParameter({ examples, schema, ...parameter }: Parameter): Parameter {
  return { ...parameter, schema: { ...schema, ...(examples !== undefined && { examples }) } }
}

function tidyResponses(method: string, operation: Operation, errors: Json): void {
  const { operationId, responses, 'x-request-headers': taken = [] } = operation
  delete operation['x-request-headers']
  const isRead = taken.includes('If-None-Match')
  const isList = Object.values(responses).some((response) => response['x-paged'])
  if (isRead) responses['304'] = { description: 'Not modified: the client already has the current response' }
  for (const [status, response] of Object.entries(responses)) {
    const isSuccess = status < '400'
    const isTagged = isSuccess && (isRead || (taken.includes('If-Match') && ['patch', 'put'].includes(method)))
    delete response['x-paged']
    response.headers = headersOf({
      status,
      isPaged: isList && isSuccess,
      isTagged,
      isIdempotent: taken.includes('Idempotency-Key'),
    })
    for (const media of Object.values(response.content ?? {})) {
      media.schema = { ...openSchema(media.schema), ...(isSuccess && { title: `${capital(operationId)}Response` }) }
    }
    if (!isSuccess) responses[status] = share(response, errors)
  }
}

/** Moves a response shared by many operations into `components`, named after the errors it can hold. */
function share(response: Response, shared: Json): Response {
  const [media] = Object.values(response.content ?? {})
  const name = Object.keys(media?.examples ?? {})
    .map(camelCase)
    .join('Or')
  shared[name] = response
  return { $ref: `#/components/responses/${name}` } as unknown as Response
}

const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)
const camelCase = (code: string) => code.split('_').map(capital).join('')
