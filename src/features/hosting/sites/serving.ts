/** Who serves the sites of this installation, and at which URLs. */
import { AppError } from '../../../core/errors.ts'
import type { NodeId } from '../../../node/desired-states.ts'

export type ServedBy = {
  /** Null where nobody serves them. */
  driver: 'embedded' | 'nginx' | null
  /** Null for the panel's own process. */
  nodeId: NodeId
  /** Undefined without a driver. */
  port: number | undefined
}

export const NO_DRIVER = 'This server does not serve sites; its operator can switch that on with NCP_SITES_PORT'

/** Of every node. */
const NODE_PORT = 80

export type Serving = ReturnType<typeof createServing>

export type ServingConfig = {
  /** Where the panel itself serves sites; undefined where it does not. */
  sitesPort: number | undefined
  publicUrl: string | undefined
  acmeDomains: readonly string[]
}

export function createServing(config: ServingConfig) {
  let { sitesPort: port } = config

  const of = (nodeId: NodeId): ServedBy =>
    nodeId === null
      ? { driver: port === undefined ? null : 'embedded', nodeId, port }
      : { driver: 'nginx', nodeId, port: NODE_PORT }

  return {
    /** Who serves what is on a node. */
    of,
    /** @throws AppError `conflict` where nothing serves sites */
    requireDriver(nodeId: NodeId): void {
      if (of(nodeId).driver === null) throw new AppError('conflict', NO_DRIVER)
    },
    /** The port that sites are served on, for a setting of 0. */
    opened(actual: number): void {
      port = actual
    },
    /** Whether a host name is the panel's own: a site there would share its cookies. */
    isOwnName: (name: string): boolean =>
      config.acmeDomains.includes(name) ||
      (config.publicUrl !== undefined && new URL(config.publicUrl).hostname === name),
  }
}

/** The URLs of a site, its domain first; none where nobody serves it. */
export function urlsOf(names: readonly string[], { port }: ServedBy): string[] {
  if (port === undefined) return []
  return names.map((name) => (port === 80 ? `http://${name}` : `http://${name}:${port}`))
}
