/** The OpenAPI document: valid, complete, as strict as the API, and true to the contract and the routes. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { createApp, routesToDescribe } from '../../src/app.ts'
import { catalogue } from '../../src/core/errors.ts'
import { SCOPES } from '../../src/core/scope.ts'
import { openApiDocument } from '../../src/docs/openapi.ts'
import { startPanel, usePanel } from '../harness/panel.ts'

// One test sends every request there is, and some of them cost hashes.
setDefaultTimeout(600_000)

type Schema = {
  $ref?: string
  type?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  additionalProperties?: unknown
  enum?: unknown[]
  const?: unknown
  'x-extensible-enum'?: string[]
  description?: string
  title?: string
  examples?: unknown[]
  minLength?: number
  maxLength?: number
  maxItems?: number
  minimum?: number
  maximum?: number
  format?: string
}
type Content = Record<string, { schema: Schema; examples?: Record<string, { value: unknown }> }>
type Response = { $ref?: string; description: string; content?: Content; headers: Record<string, { $ref?: string }> }
type Parameter = { name: string; in: string; required: boolean; description: string; schema: Schema }
type Operation = {
  operationId: string
  summary: string
  description?: string
  tags: string[]
  security: object[]
  parameters?: Parameter[]
  requestBody?: { required: boolean; content: Content }
  responses: Record<string, Response>
}
type Document = {
  openapi: string
  info: { version: string }
  tags: { name: string }[]
  paths: Record<string, Record<string, Operation>>
  components: {
    securitySchemes: object
    headers: Record<string, { required: boolean; schema: Schema }>
    responses: Record<string, Response>
    schemas: Record<string, Schema>
  }
}

const hasPythonYaml = Bun.which('python3') !== null && Bun.spawnSync(['python3', '-c', 'import yaml']).success

/** The operation whose body is no JSON. */
/** Answers with server-sent events. */
const STREAM = 'GET /api/v1/events/stream'
const UPLOAD = 'POST /api/v1/sites/{id}/deployments'
/** The one that answers with no JSON. */
const DOWNLOAD = 'GET /api/v1/node/archives/{sha256}'

/** Called with the token of a node, which has no scopes. */
const isForNodes = (name: string) => name.includes(' /api/v1/node/')

let yaml: string
let document: Document
/** Every operation by `METHOD path`. */
let operations: [name: string, operation: Operation][]
const panel = await usePanel()
beforeAll(async () => {
  yaml = await (await fetch(`${panel.origin}/api/docs/openapi.yaml`)).text()
  document = Bun.YAML.parse(yaml) as Document
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  )
})

/** What a local reference names; anything else as it is. */
function resolve<Node extends { $ref?: string }>(node: Node): Node {
  if (node.$ref === undefined) return node
  const names = node.$ref.replace(/^#\//, '').split('/')
  return names.reduce<unknown>((parent, name) => (parent as Record<string, unknown>)[name], document) as Node
}

function operationOf(name: string): Operation {
  const operation = operations.find(([key]) => key === name)?.[1]
  if (!operation) throw new Error(`${name} is not documented`)
  return operation
}

const responsesOf = (operation: Operation): [status: string, response: Response][] =>
  Object.entries(operation.responses).map(([status, response]) => [status, resolve(response)])

/** A schema and all beneath it, each under its path. */
function* walk(name: string, node: Schema): Generator<[name: string, schema: Schema]> {
  const schema = resolve(node)
  yield [name, schema]
  for (const [property, child] of Object.entries(schema.properties ?? {})) yield* walk(`${name}.${property}`, child)
  for (const child of schema.anyOf ?? []) yield* walk(name, child)
  if (schema.items) yield* walk(`${name}[]`, schema.items)
}

/** Everything that a client sends: bodies, path and query parameters. */
function requestSchemas(): [name: string, schema: Schema][] {
  return operations.flatMap(([name, { parameters = [], requestBody }]) => [
    ...parameters.flatMap((parameter) => [...walk(`${name} ${parameter.name}`, parameter.schema)]),
    ...Object.values(requestBody?.content ?? {}).flatMap(({ schema }) => [...walk(name, schema)]),
  ])
}

/** The properties of a schema as a contract lists them: `?` marks one that may be absent. */
function fields(node: Schema): Record<string, unknown> {
  const { properties = {}, required = [] } = resolve(node)
  return Object.fromEntries(
    Object.entries(properties).map(([name, child]) => [required.includes(name) ? name : `${name}?`, typeOf(child)]),
  )
}

function typeOf(node: Schema): unknown {
  const schema = resolve(node)
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' or ')
  if (schema.type === 'object') return fields(schema)
  if (schema.items) return [typeOf(schema.items)]
  return schema.format === 'date-time' ? 'timestamp' : schema.type
}

function jsonOf(content: Content | undefined): Schema {
  const json = content?.['application/json']
  if (!json) throw new Error('there is no application/json')
  return json.schema
}

const bodyOf = (name: string) => fields(jsonOf(operationOf(name).requestBody?.content))
const answerOf = (name: string, status: string) =>
  fields(jsonOf(new Map(responsesOf(operationOf(name))).get(status)?.content))
const queryOf = (name: string) =>
  Object.fromEntries(
    (operationOf(name).parameters ?? []).map(({ name, in: place, required, schema }) => [
      `${name}${required ? '' : '?'} in ${place}`,
      typeOf(schema),
    ]),
  )

describe('the OpenAPI document', () => {
  test('passes the strictest rules of an OpenAPI linter', async () => {
    const config = await createConfig({
      extends: ['recommended-strict'],
      // Rules beyond the set that mean something for this API. What stays off contradicts the contract (its envelope is
      // not RFC 9457, its paths are not all plural) or is a matter of taste (alphabetical tags, descriptions everywhere).
      rules: {
        'component-name-unique': 'error',
        'no-http-verbs-in-paths': 'error',
        'operation-singular-tag': 'error',
        'operation-tag-defined': 'error',
        'parameter-description': 'error',
        'path-params-defined': 'error',
        'paths-kebab-case': 'error',
        'spec-strict-refs': 'error',
      },
    })
    const lint = async (source: string) =>
      (await lintFromString({ source, absoluteRef: '/openapi.yaml', config })).map(
        ({ ruleId, message, location }) => `${ruleId} at ${location[0]?.pointer}: ${message}`,
      )
    expect(await lint(yaml)).toEqual([])
    // The linter would have said so.
    expect(await lint(yaml.replace('operationId: login\n', 'operationId: logout\n'))).toHaveLength(1)
    expect(await lint(yaml.replace('#/components/schemas/Site"', '#/components/schemas/Sight"'))).not.toBeEmpty()
  })

  test('is OpenAPI 3.1, has this version, and references nothing outside itself', async () => {
    const { version } = await Bun.file(`${import.meta.dir}/../../package.json`).json()
    expect(document.openapi).toBe('3.1.0')
    expect(document.info.version).toBe(version)
    const references = [...yaml.matchAll(/\$ref: "?([^"\n]+)/g)].map(([, reference]) => reference ?? '')
    expect(references).not.toBeEmpty()
    expect(references.filter((reference) => !reference.startsWith('#/components/'))).toEqual([])
    expect(yaml).not.toMatch(/https?:/)
  })

  test('offers one way to authorize, for an API key and a JWT', () => {
    expect(document.components.securitySchemes).toEqual({
      bearer: { type: 'http', scheme: 'bearer', description: expect.stringMatching(/API key.*JWT/) },
    })
  })

  test('has every route of the app except files and redirects, and no other', () => {
    const routes = createApp(panel.services, () => undefined)
      .routes.filter(({ hooks }) => !hooks.detail?.hide)
      .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`)
    expect(routes).toContain('POST /api/v1/auth/login')
    expect(operations.map(([name]) => name).sort()).toEqual(routes.sort())
  })

  test('starts with the login', () => {
    expect(Object.keys(document)).toEqual(['openapi', 'info', 'servers', 'tags', 'paths', 'components'])
    expect(operations[0]?.[0]).toBe('POST /api/v1/auth/login')
    const order = document.tags.map(({ name }) => name)
    const ranks = operations.map(([, { tags }]) => order.indexOf(tags[0] ?? ''))
    expect(ranks).toEqual(ranks.toSorted((a, b) => a - b))
  })

  test('names every body and every response, and none after a word of a programming language', () => {
    const taken = [
      'Error',
      'Object',
      'Array',
      'String',
      'Number',
      'Boolean',
      'Date',
      'Map',
      'Set',
      'Request',
      'Response',
    ]
    const { schemas, responses } = document.components
    expect(Object.keys(schemas).filter((name) => taken.includes(name))).toEqual([])
    for (const name of [...Object.keys(schemas), ...Object.keys(responses)]) {
      expect(name).toMatch(/^([A-Z][a-z]+)+$/)
    }
    for (const [key, { operationId, requestBody, responses }] of operations) {
      if (key === DOWNLOAD || key === STREAM) continue
      const name = operationId.charAt(0).toUpperCase() + operationId.slice(1)
      const [success] = Object.entries(responses).find(([status]) => status < '300') ?? []
      expect(responses[success ?? '']?.content?.['application/json']?.schema.$ref).toBe(
        `#/components/schemas/${name}Response`,
      )
      const json = requestBody?.content['application/json']
      if (json) expect(json.schema.$ref).toBe(`#/components/schemas/${name}Request`)
    }
  })

  test('is the same on every panel, whatever its settings: the harness checks all of them against one', async () => {
    expect(document as object).toEqual(JSON.parse(JSON.stringify(await openApiDocument(routesToDescribe()))))
    const other = await startPanel({
      publicUrl: 'https://panel.example.com',
      mailServer: { host: '127.0.0.1', port: 25, implicitTls: false, credentials: undefined },
      mailFrom: 'ncp@example.com',
      trustedProxies: [],
      corsOrigins: ['https://app.example.com'],
      hsts: 'off',
      securityContact: 'mailto:security@example.com',
      metricsPort: 0,
      maxBodyBytes: 4096,
      limitUser: 7,
    })
    expect(await (await fetch(`${other.origin}/api/docs/openapi.yaml`)).text()).toBe(yaml)
    await other.stop()
  })

  test.skipIf(!hasPythonYaml)('reads the same in YAML 1.1, which many programs still use', async () => {
    const script = 'import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)'
    const python = Bun.spawn(['python3', '-c', script], { stdin: new Blob([yaml]), stdout: 'pipe', stderr: 'pipe' })
    const [read, complaint] = await Promise.all([
      new Response(python.stdout).text(),
      new Response(python.stderr).text(),
      python.exited,
    ])
    expect(complaint).toBe('')
    expect(JSON.parse(read)).toEqual(document as object)
  })

  test('uses only application/json, in every response but a stream and every body but an archive, uploaded or downloaded', () => {
    for (const [name, operation] of operations) {
      const responses = responsesOf(operation).filter(([status]) => status !== '304')
      const archive = name === DOWNLOAD ? responses.find(([status]) => status === '200')?.[1] : undefined
      const bodies = [operation.requestBody, ...responses.map(([, response]) => response)]
      for (const body of bodies.filter((body) => body !== undefined)) {
        const isArchive = body === archive || (name === UPLOAD && body === operation.requestBody)
        const isStream = name === STREAM && body === operation.responses['200']
        const type = isArchive ? 'application/octet-stream' : isStream ? 'text/event-stream' : 'application/json'
        expect([name, Object.keys(body.content ?? {})]).toEqual([name, [type]])
      }
    }
  })
})

describe('every operation', () => {
  test('has a unique id, a summary, a description and a known tag', () => {
    const tags = document.tags.map(({ name }) => name)
    for (const [name, { operationId, summary, description, tags: own }] of operations) {
      expect([name, description]).toEqual([name, expect.stringMatching(/^[A-Z`'].*\.$/)])
      expect([name, operationId]).toEqual([name, expect.stringMatching(/^[a-z]+[A-Za-z]*$/)])
      expect([name, summary]).toEqual([name, expect.stringMatching(/^[A-Z].*[^.]$/)])
      expect([name, own]).toEqual([name, tags.filter((tag) => tag === own[0])])
    }
    expect(new Set(operations.map(([, { operationId }]) => operationId)).size).toBe(operations.length)
    expect(
      new Set(
        operations.map(
          ([
            ,
            {
              tags: [tag],
            },
          ]) => tag,
        ),
      ),
    ).toEqual(new Set(tags))
  })

  test('has the rate-limit headers on every response, as required integers', () => {
    const names = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']
    for (const [name, operation] of operations) {
      for (const [status, { headers }] of responsesOf(operation)) {
        for (const header of names) {
          const stated = headers[header] && resolve(headers[header])
          expect([name, status, stated]).toEqual([
            name,
            status,
            expect.objectContaining({ required: true, schema: expect.objectContaining({ type: 'integer' }) }),
          ])
        }
      }
    }
  })

  test('has the headers that every response has, and those of an expiring API key', () => {
    for (const [name, operation] of operations) {
      for (const [status, { headers }] of responsesOf(operation)) {
        for (const header of ['X-Request-Id', 'RateLimit', 'RateLimit-Policy']) {
          expect([name, status, headers[header] && resolve(headers[header])]).toEqual([
            name,
            status,
            expect.objectContaining({ required: true }),
          ])
        }
        for (const header of ['X-API-Key-Expires', 'X-API-Key-Warning']) {
          expect([name, status, headers[header] && resolve(headers[header])]).toEqual([
            name,
            status,
            expect.objectContaining({ required: false }),
          ])
        }
      }
    }
  })

  test('has a Location on 201, and only there', () => {
    for (const [, operation] of operations) {
      for (const [status, { headers }] of responsesOf(operation)) expect('Location' in headers).toBe(status === '201')
    }
  })

  test('has Retry-After on 429 and 503, the challenge on 401, and possibly one on 403', () => {
    for (const [, operation] of operations) {
      for (const [status, { headers }] of responsesOf(operation)) {
        expect('Retry-After' in headers).toBe(['429', '503'].includes(status))
        expect('WWW-Authenticate' in headers).toBe(['401', '403'].includes(status))
      }
    }
  })

  test('has one success, and 400, 429 and 500', () => {
    for (const [name, { responses }] of operations) {
      const statuses = Object.keys(responses)
      expect([name, statuses]).toEqual([name, expect.arrayContaining(['400', '429', '500'])])
      expect([name, statuses.filter((status) => status < '300')]).toEqual([name, [expect.stringMatching(/^20[01]$/)]])
    }
  })

  test('has an ETag, If-None-Match and an empty 304 exactly when it reads a resource or a list', () => {
    const others = ['GET /api/v1/auth/me', 'GET /livez', 'GET /readyz', 'GET /api/v1/node/state', DOWNLOAD, STREAM]
    for (const [name, operation] of operations) {
      const reads = name.startsWith('GET ') && !others.includes(name)
      const responses = new Map(responsesOf(operation))
      const tagged = [...responses].filter(([, { headers }]) => 'ETag' in headers).map(([status]) => status)
      const changes = 'If-Match? in header' in queryOf(name) && /^P(ATCH|UT) /.test(name)
      expect([name, tagged]).toEqual([name, reads ? ['200', '304'] : changes ? ['200'] : []])
      expect([name, 'If-None-Match? in header' in queryOf(name)]).toEqual([name, reads])
      expect(responses.get('304')?.content).toBeUndefined()
    }
  })

  test('takes an If-Match, and can return 412, exactly when it changes something readable', () => {
    const readable = new Set(operations.flatMap(([name]) => (name.startsWith('GET ') ? [name.slice(4)] : [])))
    for (const [name, { responses }] of operations) {
      const [method = '', path = ''] = name.split(' ')
      const expected = ['PATCH', 'PUT', 'DELETE'].includes(method) && readable.has(path) && !path.endsWith('/sessions')
      expect([name, 'If-Match? in header' in queryOf(name), '412' in responses]).toEqual([name, expected, expected])
    }
  })

  test('takes an Idempotency-Key exactly when it creates something, even a secret', () => {
    for (const [name, operation] of operations) {
      const creates = '201' in operation.responses || name.endsWith('/rotate')
      expect([name, 'Idempotency-Key? in header' in queryOf(name)]).toEqual([name, creates])
      if (creates) expect(resolve(operation.responses['409'] as Response).description).toContain('`conflict`')
    }
  })

  test('returns every success and every error in the envelope', () => {
    for (const [name, operation] of operations) {
      for (const [status, { content }] of responsesOf(operation)) {
        if (status === '304' || ([DOWNLOAD, STREAM].includes(name) && status === '200')) continue
        const failed = status >= '400'
        const envelope = fields(jsonOf(content))
        expect([name, status, Object.keys(envelope)]).toEqual([name, status, ['data', 'error', 'message']])
        expect([name, status, envelope.error, envelope.message]).toEqual([
          name,
          status,
          failed ? 'string' : 'null',
          'string',
        ])
        if (failed) expect(envelope.data).toBe('null')
      }
    }
  })

  test('shows an example of every error that it can return', () => {
    for (const [name, operation] of operations) {
      for (const [status, { description, content }] of responsesOf(operation)) {
        if (status < '400') continue
        const shown = Object.values(content?.['application/json']?.examples ?? {}).map(({ value }) => value)
        const expected = Object.values(catalogue)
          .filter((entry) => `${entry.status}` === status && description.includes(`\`${entry.error}\``))
          .map(({ error, message }) => ({ data: null, error, message }))
        expect([name, status, shown]).toEqual([name, status, expect.arrayContaining(expected)])
        expect(shown.length).toBe(description.split(' or ').length)
      }
    }
  })

  test('returns `not authenticated` exactly when it has security, and 401 without it only at login', () => {
    for (const [name, operation] of operations) {
      const { description = '' } = resolve(operation.responses['401'] ?? ({} as Response))
      expect([name, operation.security]).toEqual([
        name,
        description.includes('`not authenticated`') ? [{ bearer: expect.any(Array) }] : [],
      ])
    }
    const open = operations.filter(([, { security }]) => security.length === 0)
    expect(open.filter(([, { responses }]) => '401' in responses).map(([name]) => name)).toEqual([
      'POST /api/v1/auth/login',
    ])
  })

  /** They ask for the administrator's own password, which no key proves. */
  const FOR_JWTS_OF_ADMINISTRATORS = ['POST /api/v1/admin/users/{id}/2fa/reset', 'POST /api/v1/admin/users/{id}/email']

  test('names the scope that a key needs, after its tag and action, where it accepts keys', () => {
    const used = new Set<unknown>()
    for (const [name, operation] of operations) {
      const { description = '' } = resolve(operation.responses['403'] ?? ({} as Response))
      const tag = (operation.tags[0] ?? '').toLowerCase().replaceAll(' ', '-')
      const scope = `${tag}:${name.startsWith('GET ') ? 'read' : 'write'}`
      const takesScopes =
        (SCOPES as readonly string[]).includes(scope) && !FOR_JWTS_OF_ADMINISTRATORS.includes(name) && !isForNodes(name)
      const [named = []] = operation.security.map((way) => (way as { bearer: unknown[] }).bearer)
      expect([name, named, description.includes('`scope_missing`')]).toEqual([
        name,
        takesScopes ? [scope] : [],
        takesScopes,
      ])
      for (const scope of named) used.add(scope)
    }
    expect(used).toEqual(new Set(SCOPES))
  })

  test('has 422, since any query parameter may be mistyped, and 408, 413 and 415 exactly when it takes a body', () => {
    const ofBodies = ['408', '411', '413', '415', '422']
    for (const [name, { responses, requestBody }] of operations) {
      // Of an archive the length is needed, and the media type does not matter.
      const expected = name === UPLOAD ? ['408', '411', '413', '422'] : ['408', '413', '415', '422']
      const stated = Object.keys(responses).filter((status) => ofBodies.includes(status))
      expect([name, stated]).toEqual([name, requestBody ? expected : ['422']])
    }
  })
})

describe('every response', () => {
  const answers = () =>
    operations.flatMap(([name, operation]) =>
      responsesOf(operation)
        .filter(([, { content }]) => content?.['application/json'])
        .flatMap(([status, { content }]) => [...walk(`${name} ${status}`, jsonOf(content))]),
    )

  test('allows fields and values of later versions', () => {
    expect(answers().length).toBeGreaterThan(500)
    expect(answers().filter(([, { additionalProperties }]) => additionalProperties === false)).toEqual([])
    expect(answers().filter(([, schema]) => schema.enum ?? schema.const)).toEqual([])
  })

  test('lists the known values, for people and for programs', () => {
    const listing = answers().filter(([, schema]) => schema['x-extensible-enum'])
    expect(listing.length).toBeGreaterThan(20)
    for (const [name, { description = '', 'x-extensible-enum': known = [] }] of listing) {
      expect([name, known.filter((value) => !description.includes(`\`${value}\``))]).toEqual([name, []])
    }
    const { error } = resolve(document.components.schemas.ErrorEnvelope ?? {}).properties ?? {}
    expect(error?.['x-extensible-enum']?.toSorted()).toEqual(
      [...new Set(Object.values(catalogue).map(({ error }) => error))].sort(),
    )
  })

  test('is checked by the harness against exactly what the document names: fields, values and headers', async () => {
    const token = await panel.admin()
    const { data, error, message, headers } = await panel.get<Record<string, object>>('/auth/me', token)
    const check = (change: object, sent = headers) =>
      panel.conformance.check('GET', '/api/v1/auth/me', 200, sent, {
        data: { ...data, user: { ...data.user, ...change } },
        error,
        message,
      })
    expect(() => check({})).not.toThrow()
    expect(() => check({ shoe_size: 43 })).toThrow('must NOT have additional properties')
    expect(() => check({ role: 'owner' })).toThrow('must be equal to one of the allowed values')
    const more = new Headers(headers)
    more.set('x-shoe-size', '43')
    expect(() => check({}, more)).toThrow('has x-shoe-size, which is not documented')
    const fewer = new Headers(headers)
    fewer.delete('x-request-id')
    expect(() => check({}, fewer)).toThrow('lacks X-Request-Id')
  })

  test('keeps the details of an audit entry, which vary by action', () => {
    expect(document.components.schemas.AuditEntry?.properties?.details).toMatchObject({
      type: 'object',
      additionalProperties: true,
    })
  })
})

describe('every request', () => {
  test('is closed: an unknown field is refused', () => {
    const objects = requestSchemas().filter(([, { type }]) => type === 'object')
    expect(objects.length).toBeGreaterThan(10)
    expect(objects.filter(([, schema]) => schema.additionalProperties !== false)).toEqual([])
  })

  test('limits the length of its strings and arrays', () => {
    const strings = requestSchemas().filter(([, { type }]) => type === 'string')
    const arrays = requestSchemas().filter(([, { type }]) => type === 'array')
    expect([strings.length > 20, arrays.length > 0]).toEqual([true, true])
    expect(strings.filter(([, schema]) => (schema.maxLength ?? schema.enum) === undefined)).toEqual([])
    expect(arrays.filter(([, schema]) => schema.maxItems === undefined)).toEqual([])
  })

  test('limits its integers except ids: one out of range is an unknown id, not a broken rule', () => {
    const isId = (name: string) => /[ ._]id$|\.sites\[\]$/.test(name)
    const integers = requestSchemas().filter(([, { type }]) => type === 'integer' || type === 'number')
    expect(integers.filter(([name]) => isId(name)).length).toBeGreaterThan(5)
    expect(
      integers.filter(
        ([name, { minimum, maximum }]) => !isId(name) && (minimum === undefined || maximum === undefined),
      ),
    ).toEqual([])
  })

  test('has an example for every field of its body, which "Try it out" fills in', () => {
    for (const [name, { requestBody }] of operations) {
      if (!requestBody || name === UPLOAD) continue
      const { properties = {} } = resolve(jsonOf(requestBody.content))
      expect([name, Object.keys(properties)]).not.toEqual([name, []])
      const missing = Object.entries(properties).filter(([, schema]) => !schema.examples?.length)
      expect([name, missing]).toEqual([name, []])
    }
  })

  test('is accepted by the API in its example form, as far as types and rules go', async () => {
    const refused: string[] = []
    for (const [name, { requestBody }] of operations) {
      if (!requestBody || name === UPLOAD) continue
      const { properties = {} } = resolve(jsonOf(requestBody.content))
      const body = Object.fromEntries(Object.entries(properties).map(([name, { examples }]) => [name, examples?.[0]]))
      // A fixed date is in the past one day.
      if (body.expires_at !== undefined) body.expires_at = new Date(panel.clock.now() + 86_400_000).toISOString()
      const [method = '', path = ''] = name.replaceAll(/\{\w+\}/g, '1').split(' ')
      // An administrator each, since some of these requests end the session that sends them.
      const { token } = await panel.customer('admin')
      const { status, message } = await panel.send(method, path, { as: token, body })
      if ([400, 415, 422].includes(status)) refused.push(`${name} ${status} ${message}`)
    }
    // An example cannot be a secret that works.
    const unknownToken = '422 token: is unknown, expired or already used; ask for a new one'
    expect(refused).toEqual([
      `POST /api/v1/auth/password-reset/confirm ${unknownToken}`,
      `POST /api/v1/auth/email/confirm ${unknownToken}`,
    ])
    // A login for each operation.
  }, 600_000)

  test('has no example that does harm when sent unread: JWTs that live for the shortest time allowed', () => {
    const { properties } = resolve(jsonOf(operationOf('PATCH /api/v1/admin/settings').requestBody?.content))
    expect(properties?.jwt_ttl_seconds?.examples).toEqual([86_400])
  })
})

describe("the contract's operations", () => {
  const page = {
    'limit? in query': 'integer',
    'cursor? in query': 'string',
    'If-None-Match? in header': 'string',
  }
  const timestampOrNull = 'timestamp or null'

  test('login takes and returns what the contract says', () => {
    expect(bodyOf('POST /api/v1/auth/login')).toEqual({ email: 'string', password: 'string', 'totp_code?': 'string' })
    expect(answerOf('POST /api/v1/auth/login', '200')).toEqual({
      data: { token: 'string', user: { id: 'integer', email: 'string', name: 'string', role: 'string' } },
      error: 'null',
      message: 'string',
    })
    const { description } = resolve(operationOf('POST /api/v1/auth/login').responses['401'] as Response)
    expect(description).toBe('`invalid credentials` or `2fa_required` or `invalid_2fa_code`')
  })

  test.each([
    ['POST /api/v1/auth/login', '401', '2fa_required', 'Two-factor authentication code required'],
    ['GET /api/v1/sites', '401', 'not authenticated', 'Authentication required'],
    ['GET /api/v1/sites', '429', 'rate limit exceeded', 'Too many requests. Please try again later.'],
  ])('%s shows the %s of the contract: %s', (name, status, error, message) => {
    const response = new Map(responsesOf(operationOf(name))).get(status)
    const shown = Object.values(response?.content?.['application/json']?.examples ?? {})
    expect(shown).toContainEqual({ value: { data: null, error, message } })
  })

  /** Only of a key that was made or rotated with them. */
  const beyond = {
    'scopes?': ['string'],
    'allowed_cidrs?': ['string'],
    'subscription_id?': 'integer',
    'sites?': ['integer'],
    'can_rotate?': 'boolean',
    'renewable_until?': 'timestamp',
    'previous_key?': { key_prefix: 'string', valid_until: 'timestamp' },
  }

  test('creating an API key takes a name and an expiry, and returns the key once', () => {
    expect(bodyOf('POST /api/v1/auth/api-keys')).toEqual({
      name: 'string',
      'expires_at?': timestampOrNull,
      'scopes?': ['string'],
      'allowed_cidrs?': ['string'],
      'subscription_id?': 'integer',
      'sites?': ['integer'],
      'can_rotate?': 'boolean',
      'renewable_until?': 'timestamp',
      'totp_code?': 'string',
    })
    const { properties } = resolve(jsonOf(operationOf('POST /api/v1/auth/api-keys').requestBody?.content))
    expect(properties?.name).toMatchObject({ minLength: 1, maxLength: 100 })
    expect(answerOf('POST /api/v1/auth/api-keys', '201')).toEqual({
      data: {
        id: 'integer',
        name: 'string',
        key: 'string',
        key_prefix: 'string',
        expires_at: timestampOrNull,
        created_at: 'timestamp',
        ...beyond,
      },
      error: 'null',
      message: 'string',
    })
  })

  test('listing API keys returns everything but the key', () => {
    expect(queryOf('GET /api/v1/auth/api-keys')).toEqual(page)
    expect(answerOf('GET /api/v1/auth/api-keys', '200')).toEqual({
      data: [
        {
          id: 'integer',
          name: 'string',
          key_prefix: 'string',
          last_used_at: timestampOrNull,
          expires_at: timestampOrNull,
          created_at: 'timestamp',
          ...beyond,
        },
      ],
      error: 'null',
      message: 'string',
    })
  })

  test('deleting an API key takes its id', () => {
    expect(queryOf('DELETE /api/v1/auth/api-keys/{id}')).toEqual({
      'id in path': 'integer',
      'If-Match? in header': 'string',
    })
    expect(answerOf('DELETE /api/v1/auth/api-keys/{id}', '200')).toEqual({
      data: 'null',
      error: 'null',
      message: 'string',
    })
  })

  test('listing sites takes the subscription', () => {
    const search = { 'domain? in query': 'string' }
    expect(queryOf('GET /api/v1/sites')).toEqual({ 'subscription_id? in query': 'integer', ...search, ...page })
    expect(answerOf('GET /api/v1/sites', '200')).toEqual({
      data: [expect.objectContaining({ id: 'integer', subscription_id: 'integer', domain: 'string' })],
      error: 'null',
      message: 'string',
    })
  })
})
