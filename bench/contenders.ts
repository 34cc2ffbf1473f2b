/** Who is measured, and with which request: the ceiling, the panel, and peers that do the same job. */
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { emailOf, keyOf, PASSWORD } from './data.ts'
import type { Request } from './load.ts'
import { nextPort, type Server, startServer } from './process.ts'

export const ROOT = join(import.meta.dir, '..')
export const BINARY = join(ROOT, 'dist/ncp')
export const WORK = join(import.meta.dir, 'data')
/** Callers that take turns: one alone would reach even a generous limit. */
export const CALLERS = 20
const PATH = '/api/v1/sites'
const NO_LIMIT = '1000000'

/** One line of the table: the same request to a server and to a ceiling that sends the same bytes. */
export type Contest = {
  name: string
  server: Server
  ceiling: Server
  request: Request
  /** Sent in turn. */
  credentials?: string[]
  status: number
}

export type Panel = { server: Server; directory: string }

/** Starts a panel, all its features on, with its log in a file, on a copy of a data directory. */
export async function startPanel(
  data: string,
  options: { tls?: boolean; env?: Record<string, string>; anyCore?: boolean; fresh?: boolean } = {},
): Promise<Panel> {
  const port = nextPort()
  const directory = options.fresh === false ? data : join(WORK, `run-${port}`)
  if (directory !== data) {
    rmSync(directory, { recursive: true, force: true })
    cpSync(data, directory, { recursive: true })
  }
  const origin = `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}`
  const flags = ['--host', '127.0.0.1', '--port', `${port}`, '--data', directory, ...(options.tls ? [] : ['--no-tls'])]
  const server = await startServer([BINARY, 'serve', ...flags], {
    origin,
    probe: '/livez',
    ...(options.anyCore !== undefined && { anyCore: options.anyCore }),
    env: {
      NCP_LIMIT_LOGIN: NO_LIMIT,
      NCP_LIMIT_USER: NO_LIMIT,
      NCP_LIMIT_ANONYMOUS: NO_LIMIT,
      NCP_LIMIT_PROBE: NO_LIMIT,
      NCP_LOG_FILE: join(directory, 'requests.log'),
      NCP_METRICS_PORT: `${nextPort()}`,
      ...options.env,
    },
  })
  return { server, directory }
}

/** Starts a ceiling that answers with the bytes and headers of a response. */
export async function startCeiling(response: Response, tls?: { cert: string; key: string }): Promise<Server> {
  const port = nextPort()
  mkdirSync(WORK, { recursive: true })
  const answer = join(WORK, `ceiling-${port}.json`)
  // Bun writes these two itself.
  const headers = Object.fromEntries([...response.headers].filter(([name]) => !/^(date|content-length)$/.test(name)))
  writeFileSync(answer, JSON.stringify({ port, status: response.status, headers, body: await response.text(), tls }))
  const origin = `${tls ? 'https' : 'http'}://127.0.0.1:${port}`
  return startServer([process.execPath, join(import.meta.dir, 'ceiling.ts'), answer], { origin, probe: '/' })
}

export function ask(server: Server, credential?: string): Promise<Response> {
  return fetch(`${server.origin}${PATH}`, {
    headers: credential === undefined ? {} : { authorization: `Bearer ${credential}` },
    tls: { rejectUnauthorized: false },
  })
}

export async function logIn(server: Server, user: number): Promise<string> {
  const response = await fetch(`${server.origin}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: emailOf(user), password: PASSWORD }),
    tls: { rejectUnauthorized: false },
  })
  const { data } = (await response.json()) as { data: { token: string } }
  return data.token
}

export const keys = (count: number) => Array.from({ length: count }, (_, i) => keyOf(i + 1))

/** The rows of the table that are about the panel itself. */
export async function panelContests(data: string, servers: Server[]): Promise<Contest[]> {
  const started = <Started extends Server>(server: Started): Started => {
    servers.push(server)
    return server
  }
  const { server } = await startPanel(data)
  started(server)
  const strict = started((await startPanel(data, { env: { NCP_LIMIT_ANONYMOUS: '1' } })).server)
  const secure = await startPanel(data, { tls: true })
  started(secure.server)
  const tls = { cert: join(secure.directory, 'tls/cert.pem'), key: join(secure.directory, 'tls/key.pem') }
  const tokens = await Promise.all(Array.from({ length: CALLERS }, (_, i) => logIn(server, i + 1)))
  const secureTokens = await Promise.all(Array.from({ length: CALLERS }, (_, i) => logIn(secure.server, i + 1)))

  const ceiling = started(await startCeiling(await ask(server, keyOf(1))))
  const tlsCeiling = started(await startCeiling(await ask(secure.server, keyOf(1)), tls))
  const ceiling401 = started(await startCeiling(await ask(server)))
  await ask(strict)
  const ceiling429 = started(await startCeiling(await ask(strict)))

  const request = { path: PATH, headers: {} }
  return [
    { name: 'ncp, API key', server, ceiling, request, credentials: keys(CALLERS), status: 200 },
    { name: 'ncp, JWT', server, ceiling, request, credentials: tokens, status: 200 },
    {
      name: 'ncp, API key, HTTPS',
      server: secure.server,
      ceiling: tlsCeiling,
      request,
      credentials: keys(CALLERS),
      status: 200,
    },
    {
      name: 'ncp, JWT, HTTPS',
      server: secure.server,
      ceiling: tlsCeiling,
      request,
      credentials: secureTokens,
      status: 200,
    },
    { name: 'ncp, refused: 401', server, ceiling: ceiling401, request, status: 401 },
    { name: 'ncp, refused: 429', server: strict, ceiling: ceiling429, request, status: 429 },
  ]
}

type Peer = {
  name: string
  command: string[]
  /** Path that answers once it serves. */
  probe?: string
  /** Of the list of sites. */
  path?: string
  credentialOf(server: Server): Promise<string>
}

const DIRECTUS_TOKEN = 'bench-token-0123456789'
const inPeers = (file: string) => join(import.meta.dir, 'peers', file)

/** It makes its sites once it serves. @returns its static token */
async function untilDirectusHasSites({ origin }: Server): Promise<string> {
  for (;;) {
    const response = await fetch(`${origin}/items/sites`, { headers: { authorization: `Bearer ${DIRECTUS_TOKEN}` } })
    const { data } = (await response.json()) as { data?: unknown[] }
    if (data?.length === 5) return DIRECTUS_TOKEN
    await Bun.sleep(100)
  }
}

/** Peers do the same job on the same data: five sites of a caller whose credential is checked and who is limited. */
export async function peerContests(data: string, ceiling: Server, servers: Server[]): Promise<Contest[]> {
  const contests: Contest[] = []
  const token = async (server: Server) => (await fetch(`${server.origin}/token`)).text()
  const peers: Peer[] = [
    { name: 'Fastify, API key', command: ['node', inPeers('fastify.js')], credentialOf: async () => keyOf(1) },
    { name: 'Fastify, JWT', command: ['node', inPeers('fastify.js')], credentialOf: token },
    { name: 'better-auth, API key', command: [process.execPath, inPeers('better-auth.ts')], credentialOf: token },
  ]
  if (existsSync(inPeers('directus/node_modules/directus'))) {
    peers.push({
      name: 'Directus, static token',
      command: ['node', inPeers('directus/serve.js'), DIRECTUS_TOKEN],
      probe: '/server/ping',
      path: '/items/sites',
      credentialOf: untilDirectusHasSites,
    })
  }
  for (const { name, command, credentialOf, probe = '/token', path = PATH } of peers) {
    const port = nextPort()
    const directory = join(WORK, `run-${port}`)
    mkdirSync(directory, { recursive: true })
    cpSync(join(data, 'ncp.db'), join(directory, 'ncp.db'))
    const server = await startServer([...command, `${port}`, directory], {
      origin: `http://127.0.0.1:${port}`,
      probe,
      env: { NODE_ENV: 'production' },
    })
    servers.push(server)
    const credential = await credentialOf(server)
    const request = { path, headers: { authorization: `Bearer ${credential}` } }
    const response = await fetch(`${server.origin}${path}`, { headers: request.headers })
    const { data: sites } = (await response.json()) as { data: unknown[] }
    if (response.status !== 200 || sites.length !== 5)
      throw new Error(`${name} does not do the job: ${response.status}`)
    contests.push({ name, server, ceiling, request, status: 200 })
  }
  return contests
}

export function removeRuns(): void {
  if (!existsSync(WORK)) return
  for (const name of new Bun.Glob('{run,ceiling}-*').scanSync({ cwd: WORK, onlyFiles: false })) {
    rmSync(join(WORK, name), { recursive: true, force: true })
  }
}
