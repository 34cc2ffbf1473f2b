/** A node as the panel sees one: a token, and the requests that are sent with it. */
import { operator } from '../../src/core/actor.ts'
import type { NodeReport, NodeStatus } from '../../src/node/protocol.ts'
import { type OnWire, toWire } from '../../src/node/wire.ts'
import type { Panel } from './panel.ts'

export type NodeState = OnWire<import('../../src/node/protocol.ts').DesiredChanges>

export type NodeClient = Awaited<ReturnType<typeof addNode>>

let named = 0

/** @returns a node that has yet to connect */
export async function addNode(panel: Panel) {
  const { node, token } = await panel.services.nodes.add(operator, `node-${++named}`)
  const status: NodeStatus = { held: null, orphans: [], highestSubscriptionId: 0 }

  const client = {
    id: node.id,
    name: node.name,
    token,

    state: (query = '') => panel.send<NodeState>('GET', `/node/state${query}`, { as: token }),

    report: (report: Partial<NodeReport>) =>
      panel.send<{ ignored: number }>('POST', '/node/report', {
        as: token,
        body: toWire({ sites: [], releases: [], removedSubscriptions: [], ...report }),
      }),

    /** Not through `send`, which takes JSON only. */
    archive: (sha256: string) =>
      fetch(`${panel.origin}/api/v1/node/archives/${sha256}`, { headers: { authorization: `Bearer ${token}` } }),

    /** What every node says first: from then on it may get subscriptions. */
    connect: (said: Partial<NodeStatus> = {}, phpVersions: string[] = []) =>
      client.report({
        node: { ...status, ...said },
        description: { version: '1.2.3', phpVersions, time: panel.clock.now() },
      }),
  }
  return client
}

/** @returns one that is connected */
export async function connectNode(panel: Panel): Promise<NodeClient> {
  const node = await addNode(panel)
  const { status, message } = await node.connect()
  if (status !== 200) throw new Error(`the node could not connect: ${status} ${message}`)
  return node
}
