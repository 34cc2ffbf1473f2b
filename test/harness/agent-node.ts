/** A node with its agent and our own nginx, and the panel that tells it what to serve. */
import { afterAll } from 'bun:test'
import { join } from 'node:path'
import { nodeLayout } from '../../src/agent/layout.ts'
import { treeOf } from '../../src/agent/setup/tree.ts'
import { webConfiguration } from '../../src/agent/web/configuration.ts'
import { operator } from '../../src/core/actor.ts'
import type { NodeReport } from '../../src/node/protocol.ts'
import { fromWire } from '../../src/node/wire.ts'
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
  const { node, token } = await panel.services.nodes.add(operator, 'web-1')
  const socket = join(newDirectory('ncp-agent-'), 'panel.sock')
  await prepare(machine, socket, token)
  const reports: NodeReport[] = []
  const server = listenIn(panel, socket, reports)
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
    agent = machine.spawn([...around, 'ncp', 'agent'])
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

  /** @returns the id of the deployment */
  async function upload(owner: Customer, { id }: { id: number }, files: Record<string, string>): Promise<number> {
    const response = await panel.send<{ id: number }>('POST', `/sites/${id}/deployments`, {
      as: owner.token,
      rawBody: archiveOf(files),
    })
    if (response.status !== 201) throw new Error(`${response.status} ${response.message}`)
    return response.data.id
  }

  /** @returns the deployment, when it is served or has failed */
  const endOf = (owner: Customer, { id }: { id: number }, deployment: number) =>
    until('the end of the deployment', async () => {
      const path = `/sites/${id}/deployments/${deployment}`
      const { data } = await panel.get<{ id: number; number: number; status: string }>(path, owner.token)
      return ['active', 'failed', 'superseded'].includes(data.status) && data
    })

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
      // Before, a subscription would be the panel's own.
      await until('the node', () => reports.some((report) => report.node))
      return { ...one, subscription: await panel.subscription(one.id, { max_sites: 1000 }) }
    },

    observed: async (owner: Customer, { id }: { id: number }) =>
      (await panel.get<Site>(`/sites/${id}?wait=observed&timeout=10`, owner.token)).data,

    upload,
    endOf,

    /** @returns the deployment, when it is served or has failed */
    deploy: async (owner: Customer, site: { id: number }, files: Record<string, string>) =>
      endOf(owner, site, await upload(owner, site, files)),

    /** What a visitor gets. */
    async visit(host: string, path = '/', init: RequestInit = {}) {
      const response = await fetch(`http://${host}${path}`, { unix: http, redirect: 'manual', ...init })
      return { status: response.status, text: await response.text(), headers: response.headers }
    },

    /** Compares everything now. */
    compare: () => agent?.kill('SIGHUP'),
  }
}

/** As `ncp node setup` does. */
async function prepare(machine: NodeMachine, socket: string, token: string): Promise<void> {
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
     echo '{"panel": "${socket}"}' >${layout.enrolment}
     echo ${token} >${layout.nodeToken}
     chmod 600 ${layout.enrolment} ${layout.nodeToken}
     cat >${layout.webConfiguration}`,
    { stdin: webConfiguration({ layout, version: [1, 22, 1], refusesLinks: 'mount', hasIpv6: true }) },
  )
}

/** Hands everything on to the panel, and keeps what the node reports. */
function listenIn(panel: Panel, unix: string, reports: NodeReport[]) {
  return Bun.serve({
    unix,
    // Above the time for which the panel holds a request. Missing in the types, for Unix sockets.
    ...({ idleTimeout: 60 } as object),
    async fetch(request) {
      const { pathname, search } = new URL(request.url)
      const body = request.method === 'POST' ? await request.text() : undefined
      const response = await fetch(`http://panel${pathname}${search}`, {
        unix: panel.services.paths.nodeSocket,
        method: request.method,
        headers: request.headers,
        signal: request.signal,
        ...(body !== undefined && { body }),
      })
      if (pathname.endsWith('/report') && response.ok) reports.push(reportIn(body ?? ''))
      else if (pathname.endsWith('/report'))
        process.stderr.write(`${response.status} ${await response.clone().text()}\n`)
      return response
    },
  })
}

/** As the panel reads it: what a request does not mention is empty. */
const reportIn = (body: string): NodeReport => ({
  sites: [],
  releases: [],
  removedSubscriptions: [],
  ...(fromWire(JSON.parse(body)) as Partial<NodeReport>),
})
