/** A node with its agent and our own nginx, and the panel that tells it what to serve. */
import { afterAll } from 'bun:test'
import { join } from 'node:path'
import { nodeLayout } from '../../src/agent/layout.ts'
import { installedVersions } from '../../src/agent/php/versions.ts'
import { treeOf } from '../../src/agent/setup/tree.ts'
import { webConfiguration } from '../../src/agent/web/configuration.ts'
import { operator } from '../../src/core/actor.ts'
import { deployments } from '../../src/db/tables.ts'
import type { NodeReport } from '../../src/node/protocol.ts'
import { archiveOf } from './archives.ts'
import { newDirectory } from './directory.ts'
import { type NodeMachine, type NodeProcess, usingNodeMachine } from './node-machine.ts'
import { type Customer, type Panel, type PanelOptions, usePanel } from './panel.ts'
import { until } from './until.ts'

export type Site = {
  id: number
  domain: string
  status: string
  failure: { code: string; message: string } | null
  generation: number
  observed_generation: number
  document_root: string
  current_deployment_id: number | null
  serving: { driver: string; node_id: number }
}

export const layout = nodeLayout()

export type AgentNode = Awaited<ReturnType<typeof usingAgentNode>>

/** For the tests of a file. Where no node can be made, `nodeTest` skips them, and nothing may be asked of it. */
/** @param options of its panel */
export async function usingAgentNode(options: PanelOptions = {}) {
  const machine = await usingNodeMachine()
  if (!machine.run) return {} as never
  const panel = await usePanel(options)
  const node = await connectedNode(panel)
  await prepare(machine)
  const socket = join(newDirectory('ncp-agent-'), 'panel.sock')
  const reports: NodeReport[] = []
  const server = serveNode(panel, node.id, socket, reports)
  afterAll(() => server.stop(true))
  const http = await startWebRelay()
  let agent: NodeProcess | undefined
  let names = 0

  /** The relay connects at each request: nginx need not run yet. */
  function startWebRelay() {
    return machine.socketTo(80)
  }

  /** @param around put before the command, such as strace */
  function start(around: string[] = []): NodeProcess {
    agent = machine.spawn([...around, 'bun', '/opt/ncp/test/harness/node-agent.ts', socket])
    return agent
  }

  async function create(owner: Customer, body: object = {}): Promise<Site> {
    const { status, data, message } = await panel.post<Site>('/sites', owner.token, {
      domain: `site-${++names}.example`,
      ...body,
    })
    if (status !== 201) throw new Error(`${status} ${message}`)
    return data
  }

  return {
    machine,
    panel,
    node,
    reports,
    create,
    start,
    agent: () => agent,

    /** A customer with a subscription on the node. */
    async customer(): Promise<Customer & { subscription: number }> {
      const one = await panel.customer()
      return { ...one, subscription: await panel.subscription(one.id, { max_sites: 1000 }) }
    },

    observed: async (owner: Customer, { id }: { id: number }) =>
      (await panel.get<Site>(`/sites/${id}?wait=observed&timeout=10`, owner.token)).data,

    /** @returns the deployment, when it is served or has failed */
    async deploy(owner: Customer, { id }: { id: number }, files: Record<string, string>) {
      const response = await panel.send<{ id: number }>('POST', `/sites/${id}/deployments`, {
        as: owner.token,
        rawBody: archiveOf(files),
      })
      if (response.status !== 201) throw new Error(`${response.status} ${response.message}`)
      return until('the end of the deployment', async () => {
        const path = `/sites/${id}/deployments/${response.data.id}`
        const { data } = await panel.get<{ id: number; number: number; status: string }>(path, owner.token)
        return ['active', 'failed', 'superseded'].includes(data.status) && data
      })
    },

    /** What a visitor gets. */
    async visit(host: string, path = '/', init: RequestInit = {}) {
      const response = await fetch(`http://${host}${path}`, { unix: http, redirect: 'manual', ...init })
      return { status: response.status, text: await response.text(), headers: response.headers }
    },

    /** Compares everything now. */
    compare: () => agent?.kill('SIGHUP'),
  }
}

async function connectedNode(panel: Panel) {
  const { nodes, takeSelfReport, writeAsNode, nodeCredentials } = panel.services
  const { node, token } = await nodes.add(operator, 'web-1')
  const found = await nodeCredentials.recognize(token)
  if (!('nodeId' in found)) throw new Error('the token is not valid')
  const phpVersions = (await installedVersions()).map(({ version }) => version)
  const origin = { address: '203.0.113.7', group: '203.0.113.7', userAgent: '', requestId: '' }
  await writeAsNode({ ...found, kind: 'node', origin }, (tx, { nodeId }) =>
    takeSelfReport(tx, nodeId, {
      status: { held: null, orphans: [], highestSubscriptionId: 0 },
      description: { version: '1.2.3', phpVersions, time: panel.clock.now() },
    }),
  )
  return node
}

/** As `ncp node setup` does. */
async function prepare(machine: NodeMachine): Promise<void> {
  const owner = (of: 'web' | undefined) => (of === 'web' ? 'ncp-web' : 'root')
  const directories = treeOf(layout).map(
    ({ mode, path, owner: user, group }) =>
      `install -d -m ${mode.toString(8)} -o ${owner(user)} -g ${owner(group)} ${path}`,
  )
  await machine.bash(
    `useradd --system --user-group --no-create-home ncp-web
     ${directories.join('\n')}
     mount --bind ${layout.sites} ${layout.view}
     mount -o bind,remount,nosymfollow,ro,nodev,nosuid,noexec ${layout.view}
     cat >${layout.webConfiguration}`,
    { stdin: webConfiguration({ layout, version: [1, 22, 1], refusesLinks: 'mount', hasIpv6: true }) },
  )
}

function serveNode(panel: Panel, nodeId: number, unix: string, reports: NodeReport[]) {
  const { readDesired, takeReport, commits, store, paths } = panel.services
  return Bun.serve({
    unix,
    async fetch(request) {
      const body = (await request.json()) as never as { revision: number; sha256: string } & NodeReport
      const { pathname } = new URL(request.url)
      if (pathname === '/changes') {
        return Response.json({ installationId: 'one', epoch: 'first', ...(await readDesired(nodeId, body.revision)) })
      }
      if (pathname === '/wait') {
        const next = commits.next(AbortSignal.any([request.signal, AbortSignal.timeout(1000)]))
        const { subscriptions } = await readDesired(nodeId, body.revision)
        if (subscriptions.length === 0) await next
        return new Response()
      }
      if (pathname === '/report') {
        reports.push(body)
        await takeReport(nodeId, body)
        return new Response()
      }
      const found = (await store.read.select().from(deployments)).find(({ sha256 }) => sha256 === body.sha256)
      return found ? new Response(Bun.file(join(paths.siteArchives, `${found.id}`))) : new Response('', { status: 404 })
    },
  })
}
