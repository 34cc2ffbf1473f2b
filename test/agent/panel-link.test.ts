/** How a node reaches its panel: through the socket of a real one, and past servers that answer anything. */
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { chmodSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createPanelLink, type PanelLinkOptions } from '../../src/agent/panel-link.ts'
import { readTokenFile, writeTokenFile } from '../../src/agent/token-file.ts'
import { operator } from '../../src/core/actor.ts'
import { nextTurn } from '../../src/core/next-turn.ts'
import type { NodeReport } from '../../src/node/protocol.ts'
import { archiveOf } from '../harness/archives.ts'
import { newDirectory } from '../harness/directory.ts'
import { createTestLog } from '../harness/log.ts'
import { addNode } from '../harness/node-client.ts'
import { usePanel } from '../harness/panel.ts'
import { until } from '../harness/until.ts'

const DAY = 24 * 60 * 60
const panel = await usePanel({ sitesPort: 8080 })
const socket = join(panel.data, 'node.sock')
const empty: NodeReport = { sites: [], releases: [], removedSubscriptions: [] }
const status = { held: null, orphans: [], highestSubscriptionId: 0 }

let directory: string
let stopping: AbortController
let log: ReturnType<typeof createTestLog>
beforeEach(() => {
  directory = newDirectory()
  stopping = new AbortController()
  log = createTestLog()
})
afterEach(() => {
  stopping.abort()
  rmSync(directory, { recursive: true })
})

const tokenPath = () => join(directory, 'token')
const writeToken = (token: string, since: number | undefined = panel.clock.now()) =>
  writeTokenFile(tokenPath(), { token, since })

function linkTo(address: PanelLinkOptions['panel'], token = `ncpn_${'0'.repeat(64)}`, since?: number) {
  writeToken(token, since ?? panel.clock.now())
  return createPanelLink({
    panel: address,
    tokenPath: tokenPath(),
    describe: async () => ({ version: '1.2.3', phpVersions: ['8.4'] }),
    clock: panel.clock,
    log,
    stopping: stopping.signal,
  })
}

async function newNode(since?: number) {
  const node = await addNode(panel)
  return { node, link: linkTo({ socket }, node.token, since) }
}

/** A site of a new customer on that node. */
async function siteOn(nodeId: number) {
  const { id: user_id, token } = await panel.customer()
  const body = { user_id, name: 'Hosting', node_id: nodeId }
  const { data } = await panel.post<{ id: number }>('/admin/subscriptions', await panel.admin(), body)
  const site = await panel.post<{ id: number }>('/sites', token, { domain: `on-${data.id}.example` })
  return { subscriptionId: data.id, siteId: site.data.id, token }
}

describe('through the socket of the panel', () => {
  test('a node says what it runs, and learns what is wanted of it', async () => {
    const { node, link } = await newNode()
    expect(await link.changesAfter(0)).toMatchObject({ subscriptions: [], hasMore: false })
    const { data } = await panel.get(`/admin/nodes/${node.id}`, await panel.admin())
    expect(data).toMatchObject({ version: '1.2.3', php_versions: ['8.4'], clock_ahead_ms: 0 })
    await link.report({ ...empty, node: status })
    const { subscriptionId, siteId, token } = await siteOn(node.id)
    const { subscriptions } = await link.changesAfter(0)
    expect(subscriptions).toMatchObject([
      { id: subscriptionId, sites: [{ id: siteId, phpVersion: null, publicDir: null, toUnpack: [] }] },
    ])
    const report = { subscriptionId, siteId, generation: 1, state: 'serving', documentRoot: '/srv' } as const
    await link.report({ ...empty, sites: [report] })
    expect((await panel.get<{ status: string }>(`/sites/${siteId}`, token)).data.status).toBe('active')
  })

  test('a change ends its waiting, and is what it is told next', async () => {
    const { node, link } = await newNode()
    await link.report({ ...empty, node: status })
    const { siteId, token } = await siteOn(node.id)
    const { revision } = await link.changesAfter(0)
    const waiting = link.waitForChange(revision, stopping.signal)
    await panel.patch(`/sites/${siteId}`, token, { enabled: false })
    await waiting
    expect(await link.changesAfter(revision)).toMatchObject({ subscriptions: [{ sites: [{ state: 'disabled' }] }] })
  })

  test('its waiting ends when it is told to', async () => {
    const { link } = await newNode()
    const { revision } = await link.changesAfter(0)
    const enough = new AbortController()
    const waiting = link.waitForChange(revision, enough.signal)
    enough.abort()
    await waiting
  })

  test('it downloads the archives that it has to unpack, and is told of others that they are not there', async () => {
    const { node, link } = await newNode()
    await link.report({ ...empty, node: status })
    const { siteId, token } = await siteOn(node.id)
    const rawBody = archiveOf({ 'index.html': 'x'.repeat(300_000) }, { gzip: false })
    const { data } = await panel.send<{ sha256: string }>('POST', `/sites/${siteId}/deployments`, {
      as: token,
      rawBody,
    })
    const stream = await link.archive(data.sha256, stopping.signal)
    expect(new Uint8Array(await new Response(stream).arrayBuffer())).toEqual(new Uint8Array(rawBody))
    expect(await link.archive('0'.repeat(64), stopping.signal)).toBeUndefined()
  })

  test('it reports more than one request holds, and texts that are too long or not plain', async () => {
    const { node, link } = await newNode()
    await link.report({ ...empty, node: { ...status, orphans: Array.from({ length: 700 }, (_, index) => index + 1) } })
    const { subscriptionId, siteId, token } = await siteOn(node.id)
    const message = `\u001b[2J${'long '.repeat(1000)}\ud800`
    const failure = { code: 'broken', message, retryable: true, retryAt: panel.clock.now() }
    const site = { subscriptionId, siteId, generation: 1, state: 'failed', failure } as const
    await link.report({
      ...empty,
      sites: Array.from({ length: 250 }, () => site),
      removedSubscriptions: Array.from({ length: 1200 }, (_, index) => 500_000 + index),
    })
    const { data } = await panel.get<{ status: string; status_reason: string }>(`/sites/${siteId}`, token)
    expect([data.status, data.status_reason.length, data.status_reason.startsWith(' [2J')]).toEqual([
      'failed',
      1000,
      true,
    ])
  })

  test('nothing but the routes for nodes is there', async () => {
    const admin = await panel.admin()
    const ask = (path: string, as?: string) =>
      fetch(`http://panel.local${path}`, { unix: socket, headers: as ? { authorization: `Bearer ${as}` } : {} })
    for (const path of ['/api/v1/sites', '/api/v1/auth/me', '/livez', '/', '/api/docs', '/api/v1/node']) {
      const response = await ask(path, admin)
      expect([path, response.status, ((await response.json()) as { message: string }).message]).toEqual([
        path,
        404,
        'This socket serves nodes alone',
      ])
    }
    expect((await ask('/api/v1/node/state', admin)).status).toBe(403)
    expect((await ask('/api/v1/node/state')).status).toBe(401)
    expect(statSync(socket).mode & 0o777).toBe(0o660)
  })
})

describe('the token', () => {
  test('is replaced after 30 days, and at once where a person has seen it', async () => {
    const { link } = await newNode()
    const first = readTokenFile(tokenPath()).token
    await link.changesAfter(0)
    expect(readTokenFile(tokenPath()).token).toBe(first)
    panel.clock.advance(30 * DAY)
    await link.changesAfter(0)
    const second = readTokenFile(tokenPath())
    expect([second.token === first, second.since]).toEqual([false, panel.clock.now()])
    expect(statSync(tokenPath()).mode & 0o777).toBe(0o600)

    const node = await addNode(panel)
    writeFileSync(tokenPath(), `${node.token}\n`, { mode: 0o600 })
    const other = createPanelLink({
      panel: { socket },
      tokenPath: tokenPath(),
      describe: async () => ({ version: '1', phpVersions: [] }),
      clock: panel.clock,
      log,
      stopping: stopping.signal,
    })
    await other.changesAfter(0)
    expect(readTokenFile(tokenPath()).token).not.toBe(node.token)
    panel.clock.advance(2 * 60 * 60)
    await other.changesAfter(0)
  })

  test('that others can read, or that is none, is not used', async () => {
    const { token } = await addNode(panel)
    writeToken(token)
    chmodSync(tokenPath(), 0o644)
    expect(() => readTokenFile(tokenPath())).toThrow('chmod 600')
    writeFileSync(tokenPath(), 'ncp_key')
    chmodSync(tokenPath(), 0o600)
    expect(() => readTokenFile(tokenPath())).toThrow("what 'ncp node add' has printed")
  })

  test('is sent to no address that is no HTTPS', () => {
    for (const url of [
      'http://panel.example',
      'https://',
      'https://panel.example/x',
      'https://user@panel.example',
      'ftp://x',
    ]) {
      expect(() => linkTo({ url, ca: undefined })).toThrow('the URL of the panel must be https://')
    }
  })
})

/** What a panel could answer, or something in its place. */
const answers: Record<string, () => Response | Promise<Response>> = {
  '401': () =>
    Response.json({ data: null, error: 'not authenticated', message: 'Authentication required' }, { status: 401 }),
  '404': () => new Response('<html>not found</html>', { status: 404 }),
  '503': () => Response.json({ data: null, error: 'x', message: 'x' }, { status: 503 }),
  'no JSON': () => new Response('hello'),
  null: () => Response.json(null),
  'another shape': () => Response.json({ data: { revision: -1, subscriptions: 'none' }, error: null, message: '' }),
  'more without anything': () =>
    Response.json({
      data: { installation_id: 'a', epoch: 'b', revision: 0, subscriptions: [], has_more: true },
      error: null,
      message: '',
    }),
  'an object in an object, a hundred thousand times': () => new Response('{"data":'.repeat(100_000)),
  'a redirect': () => Response.redirect('https://elsewhere.example/'),
}

describe('a server that answers', () => {
  let answer: () => Response | Promise<Response>
  let asked = 0
  const path = join(newDirectory(), 'panel.sock')
  const server = Bun.serve({
    unix: path,
    fetch: () => {
      asked++
      return answer()
    },
  })
  afterAll(() => server.stop(true))

  test.each(Object.keys(answers))('%s is an error, and is not asked again at once', async (name) => {
    answer = answers[name] ?? fail
    const link = linkTo({ socket: path })
    await expect(link.changesAfter(7)).rejects.toThrow('the panel')
    asked = 0
    const second = link.changesAfter(7)
    await nextTurn()
    expect(asked).toBe(0)
    stopping.abort()
    await expect(second).rejects.toThrow()
  })

  test('401 to a report is said at once; 503 is tried again', async () => {
    answer = answers['401'] ?? fail
    asked = 0
    const link = linkTo({ socket: path })
    await expect(link.report({ ...empty, node: status })).rejects.toThrow('401')
    expect(asked).toBe(1)
    answer = () => {
      answer = () => Response.json({ data: { ignored: 0 }, error: null, message: '' })
      return Response.json({ data: null, error: 'x', message: 'x' }, { status: 503, headers: { 'retry-after': '1' } })
    }
    await linkTo({ socket: path }).report({ ...empty, node: status })
    expect(asked).toBe(3)
  })

  test('in a loop what has not changed is not asked in a loop', async () => {
    const data = { installation_id: 'a', epoch: 'b', revision: 7, subscriptions: [], has_more: false }
    answer = () => Response.json({ data, error: null, message: '' })
    const link = linkTo({ socket: path })
    asked = 0
    const enough = new AbortController()
    const waiting = link.waitForChange(7, enough.signal)
    await until('the question', () => asked > 0)
    await nextTurn()
    enough.abort()
    await waiting
    expect(asked).toBe(1)
  })

  test('with other rules for logs is heard, once', async () => {
    const siteLogs = { days: 14, short_addresses: false }
    const data = {
      installation_id: 'a',
      epoch: 'b',
      revision: 7,
      subscriptions: [],
      has_more: false,
      site_logs: siteLogs,
    }
    answer = () => Response.json({ data, error: null, message: '' })
    const link = linkTo({ socket: path })
    expect((await link.changesAfter(7)).siteLogs).toEqual({ days: 14, shortAddresses: false })
    asked = 0
    const enough = new AbortController()
    const waiting = link.waitForChange(7, enough.signal)
    await until('the question', () => asked > 0)
    await nextTurn()
    enough.abort()
    await waiting
    siteLogs.short_addresses = true
    await link.waitForChange(7, new AbortController().signal)
    expect(asked).toBe(2)
    expect((await link.changesAfter(7)).siteLogs).toEqual({ days: 14, shortAddresses: true })
    expect(asked).toBe(2)
  })

  test('nothing at all ends with the process', async () => {
    answer = () => new Promise(() => {})
    const link = linkTo({ socket: path })
    asked = 0
    const asking = link.changesAfter(7)
    await until('the question', () => asked > 0)
    stopping.abort()
    await expect(asking).rejects.toThrow()
  })
})

describe('a panel on another machine', () => {
  const at = newDirectory()
  const certificateOf = (name: string) => {
    const [key, cert] = [join(at, `${name}.key`), join(at, `${name}.pem`)]
    const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`]
    const how = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '30']
    Bun.spawnSync(['openssl', 'req', '-x509', ...how, ...subject, '-keyout', key, '-out', cert])
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  }
  const own = certificateOf('localhost')
  const forged = certificateOf('localhost')
  const other = certificateOf('other.example')
  const seen: (string | null)[] = []
  const serve = (tls: { key: string; cert: string }) =>
    Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      tls,
      fetch: ({ headers }) => {
        seen.push(headers.get('authorization'))
        return answers['503']?.() ?? fail()
      },
    })
  const servers = [own, forged, other].map(serve)
  afterAll(() => {
    for (const server of servers) server.stop(true)
    rmSync(at, { recursive: true })
  })

  test('is believed with the pinned certificate and its name, and with no other', async () => {
    const [real, fake, misnamed] = servers.map(({ port }) => `https://localhost:${port}`)
    const ask = (url = '', ca: string | undefined = own.cert) => linkTo({ url, ca }).changesAfter(7)
    await expect(ask(real)).rejects.toThrow('the panel answers 503')
    expect(seen).toHaveLength(1)
    await expect(ask(fake)).rejects.toThrow('the panel does not answer')
    await expect(ask(real, undefined)).rejects.toThrow('the panel')
    await expect(linkTo({ url: misnamed ?? '', ca: other.cert }).changesAfter(7)).rejects.toThrow('does not answer')
    // The token was sent to the real one alone.
    expect(seen.length).toBeLessThanOrEqual(2)
  })
})

function fail(): never {
  throw new Error('the test has no such answer')
}

test('the program that removes a node cuts its link off', async () => {
  const { node, link } = await newNode()
  await link.changesAfter(0)
  await panel.services.nodes.remove(operator, node.id)
  await expect(link.changesAfter(1)).rejects.toThrow('401')
})
