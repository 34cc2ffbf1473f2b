/** A real panel for tests: its own data directory, a port of its own, a clock that stands still, requests over HTTP. */
import { afterAll, expect } from 'bun:test'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { Config } from '../../src/config/schema.ts'
import { operator } from '../../src/core/actor.ts'
import { dataPaths } from '../../src/data-directory.ts'
import { listen } from '../../src/http/listen.ts'
import { openNodeSocket } from '../../src/lifecycle/node-socket.ts'
import type { RequestLog } from '../../src/log/log.ts'
import { openPanel } from '../../src/panel.ts'
import type { Network } from '../../src/platform.ts'
import { createTestClock } from './clock.ts'
import { sharedConformance } from './conformance.ts'
import { newDirectory } from './directory.ts'
import { noLog } from './log.ts'
import { putNewDatabase } from './new-database.ts'
import { workaroundEnvironment } from './workarounds.ts'

/** Far above what a test sends; a test of limits sets its own. */
const NO_LIMIT = 1_000_000
export const PASSWORD = 'correct horse battery staple'

/** The least that argon2id takes: thousands of hashes at the real costs would be a third of the suite's time. */
const LEAST_COSTS = { memoryCost: 8, timeCost: 1 }
/** One hash for all users of a process, by whether it has the real costs. */
const passwordHashes = new Map<boolean, Promise<string>>()

export type Answer<Data = unknown> = {
  status: number
  headers: Headers
  data: Data
  error: string | null
  message: string
}

export type RequestOptions = {
  /** A JWT or an API key. */
  as?: string
  /** Sent as JSON. */
  body?: unknown
  /** Sent as it is. */
  rawBody?: Bun.BodyInit
  headers?: Record<string, string>
  /** The client's address, through the trusted proxy that the tests are. */
  from?: string
}

export type PanelOptions = Partial<Config> & {
  /** The Internet as the panel sees it. */
  network?: Network
  /** What a hash costs in production, for tests that look at the costs, or that need a hash to take its time. */
  hasRealHashes?: boolean
}
export type Customer = { id: number; email: string; token: string }
export type Panel = Awaited<ReturnType<typeof startPanel>>

/**
 * A panel for the tests of a file, which stops after them: `const panel = await usePanel()`.
 *
 * @param log where the panel's log goes, if a test wants to read it
 */
export async function usePanel(options: PanelOptions = {}, log: RequestLog = noLog): Promise<Panel> {
  const panel = await startPanel(options, log)
  afterAll(panel.stop)
  return panel
}

/** @param log where the panel's log goes, if a test wants to read it */
export async function startPanel(options: PanelOptions = {}, log: RequestLog = noLog) {
  const { hasRealHashes = false, network = {}, ...overrides } = options
  const data = overrides.data ?? newDirectory()
  const clock = createTestClock()
  const config: Config = {
    ...loadConfig({}, workaroundEnvironment),
    host: '127.0.0.1',
    port: 0,
    trustedProxies: ['127.0.0.1'],
    limitLogin: NO_LIMIT,
    limitPasswordReset: NO_LIMIT,
    limitUser: NO_LIMIT,
    limitNode: NO_LIMIT,
    limitAnonymous: NO_LIMIT,
    limitAsset: NO_LIMIT,
    ...overrides,
    data,
  }
  if (overrides.data === undefined) putNewDatabase(dataPaths(data).database, clock.now())
  const services = await openPanel({
    config,
    clock,
    log,
    network,
    ...(!hasRealHashes && { passwordCosts: LEAST_COSTS }),
  })
  services.outbox.start()
  await services.initialAdmin.ensure()
  let server: Bun.Server<undefined> | undefined
  const app = createApp(
    services,
    (request) => server?.requestIP(request)?.address,
    (request, seconds) => server?.timeout(request, seconds),
  )
  const nodeSocket = openNodeSocket(app.fetchForNodes, services.paths.nodeSocket, log)
  server = listen(app.fetch, { host: config.host, port: config.port, tls: undefined })
  const sites =
    config.sitesPort === 0 || (network.httpPort !== undefined && config.sitesPort === network.httpPort)
      ? await services.embedded.start()
      : undefined
  if (sites || network.httpPort !== undefined) services.certificates.start()
  services.readiness.set(true)
  const origin = `http://127.0.0.1:${server.port}`
  const conformance = await sharedConformance()
  let customers = 0

  /** Sends a request, and holds the answer against the contract: envelope, headers, the OpenAPI document. */
  async function send<Data = unknown>(
    method: string,
    path: string,
    { as, body, rawBody, headers, from }: RequestOptions = {},
  ): Promise<Answer<Data>> {
    const url = path.startsWith('/api/') || path.endsWith('z') ? path : `/api/v1${path}`
    const sent = rawBody ?? (body === undefined ? undefined : JSON.stringify(body))
    const response = await fetch(`${origin}${url}`, {
      method,
      ...(sent !== undefined && { body: sent }),
      headers: {
        ...(sent !== undefined && { 'content-type': 'application/json' }),
        ...(as !== undefined && { authorization: `Bearer ${as}` }),
        ...(from !== undefined && { 'x-forwarded-for': from }),
        ...headers,
      },
    })
    const { status } = response
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
      // For tests over all operations; it would go on for an hour.
      await response.body?.cancel()
      return { status, headers: response.headers, data: undefined as Data, error: null, message: '' }
    }
    expect(response.headers.get('content-type')).toBe(status === 304 ? null : 'application/json; charset=utf-8')
    for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) {
      expect(response.headers.get(name)).toMatch(/^\d+$/)
    }
    expect(response.headers.get('x-request-id')).toBeTruthy()
    expect(response.headers.get('cache-control')).toBe('no-store')
    const text = await response.text()
    if (status === 304) {
      expect([method, text]).toEqual(['GET', ''])
      conformance.check(method, new URL(response.url).pathname, status, response.headers, undefined)
      return { status, headers: response.headers, data: undefined as Data, error: null, message: '' }
    }
    const envelope = JSON.parse(text) as { data: Data; error: string | null; message: string }
    expect(Object.keys(envelope).sort()).toEqual(['data', 'error', 'message'])
    expect(typeof envelope.message).toBe('string')
    if (response.ok) expect(envelope.error).toBeNull()
    else expect(envelope.data).toBeNull()
    if (status === 401) expect(response.headers.get('www-authenticate')).toStartWith('Bearer realm="ncp"')
    conformance.check(method, new URL(`${origin}${url}`).pathname, status, response.headers, envelope)
    return { status, headers: response.headers, ...envelope }
  }

  async function login(email: string, password: string = PASSWORD, totpCode?: string): Promise<string> {
    const body = { email, password, ...(totpCode !== undefined && { totp_code: totpCode }) }
    const answer = await send<{ token: string }>('POST', '/auth/login', { body })
    if (answer.status !== 200) throw new Error(`login of ${email}: ${answer.status} ${answer.message}`)
    return answer.data.token
  }

  const adminPassword = () => readFileSync(join(data, 'initial-admin-password'), 'utf8').trim()
  let adminLogin: { at: number; token: string } | undefined

  const panel = {
    origin,
    data,
    clock,
    services,
    conformance,
    send,
    login,
    get: <Data>(path: string, as?: string) => send<Data>('GET', path, as === undefined ? {} : { as }),
    post: <Data>(path: string, as: string | undefined, body?: unknown) =>
      send<Data>('POST', path, { ...(as !== undefined && { as }), ...(body !== undefined && { body }) }),
    patch: <Data>(path: string, as: string, body: unknown) => send<Data>('PATCH', path, { as, body }),
    delete: <Data>(path: string, as: string) => send<Data>('DELETE', path, { as }),

    adminPassword,
    /** The initial administrator's JWT. */
    async admin(): Promise<string> {
      // A test that has moved the clock may have outlived the last one.
      if (adminLogin?.at !== clock.now()) {
        adminLogin = { at: clock.now(), token: await login('admin@localhost', adminPassword()) }
      }
      return adminLogin.token
    },

    /** A new customer with the password `PASSWORD` who has logged in. */
    async customer(role: 'customer' | 'admin' = 'customer'): Promise<Customer> {
      const email = `customer${++customers}@example.com`
      // As the command line makes users; activation over HTTP is tested with the users.
      const passwordHash = passwordHashes.get(hasRealHashes) ?? services.passwords.hash(PASSWORD)
      passwordHashes.set(hasRealHashes, passwordHash)
      const { id } = await services.users.create(
        operator,
        { email, name: `Customer ${customers}`, role },
        await passwordHash,
      )
      return { id, email, token: await login(email) }
    },

    /** A new subscription of a customer. */
    async subscription(userId: number, options: { max_sites?: number; name?: string } = {}): Promise<number> {
      const body = { user_id: userId, name: 'Hosting', ...options }
      return (await panel.post<{ id: number }>('/admin/subscriptions', await panel.admin(), body)).data.id
    },

    /** What the panel serves for a site, for `sitesPort: 0` and where names lead to it. */
    site: (host: string, path = '/', init: RequestInit = {}): Promise<Response> =>
      fetch(`http://127.0.0.1:${sites?.port}${path}`, {
        redirect: 'manual',
        ...init,
        headers: { host, ...init.headers },
      }),

    /** Over HTTPS, for `sitesTlsPort: 0`. */
    sitesTlsPort: sites?.tlsPort ?? 0,

    /** A new API key's secret. */
    async key(token: string, options: object = {}): Promise<string> {
      return (await panel.post<{ key: string }>('/auth/api-keys', token, { name: 'Test', ...options })).data.key
    },

    /** Does what the panel does by itself from time to time. @param failure what it would log if that failed */
    async runTask(failure: string): Promise<void> {
      const task = services.tasks.find((task) => task.failure === failure)
      if (!task) throw new Error(`no task: ${failure}`)
      await task.run(new AbortController().signal)
    },

    async stop(): Promise<void> {
      await server?.stop(true)
      await nodeSocket?.cut()
      await services.close()
      if (overrides.data === undefined) rmSync(data, { recursive: true, force: true })
    },
  }
  return panel
}
