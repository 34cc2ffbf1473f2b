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
  /** Undefined where they are not served over HTTPS. */
  tls: { port: number; isOrdering: boolean } | undefined
}

export const NO_DRIVER = 'This server does not serve sites; its operator can switch that on with NCP_SITES_PORT'

/** Of every node. */
const NODE_PORT = 80
const NODE_TLS_PORT = 443

export type Serving = ReturnType<typeof createServing>

export type ServingConfig = {
  /** Where the panel itself serves sites; undefined where it does not. */
  sitesPort: number | undefined
  /** The same over HTTPS. */
  sitesTlsPort: number | undefined
  publicUrl: string | undefined
  acmeDomains: readonly string[]
  acmeEmail: string | undefined
}

export function createServing(config: ServingConfig) {
  let { sitesPort: port, sitesTlsPort: tlsPort } = config
  // Either of them accepts the authority's terms.
  const isOrdering = config.acmeEmail !== undefined || config.acmeDomains.length > 0

  const here = (): ServedBy => ({
    driver: port === undefined ? null : 'embedded',
    nodeId: null,
    port,
    tls: port === undefined || tlsPort === undefined ? undefined : { port: tlsPort, isOrdering },
  })
  const of = (nodeId: NodeId): ServedBy =>
    nodeId === null ? here() : { driver: 'nginx', nodeId, port: NODE_PORT, tls: { port: NODE_TLS_PORT, isOrdering } }

  return {
    /** Who serves what is on a node. */
    of,
    /** @throws AppError `conflict` where nothing serves sites */
    requireDriver(nodeId: NodeId): void {
      if (of(nodeId).driver === null) throw new AppError('conflict', NO_DRIVER)
    },
    /** Whether certificates are ordered for sites. */
    isOrdering,
    /** The ports that sites are served on, for a setting of 0. */
    opened(actual: number, actualTls?: number): void {
      port = actual
      tlsPort = actualTls
    },
    /** Whether a host name is the panel's own: a site there would share its cookies. */
    isOwnName: (name: string): boolean =>
      config.acmeDomains.includes(name) ||
      (config.publicUrl !== undefined && new URL(config.publicUrl).hostname === name),
  }
}

/** The URLs of a site, its domain first; none where nobody serves it. */
export function urlsOf(
  names: readonly string[],
  { port, tls }: ServedBy,
  certified: { names: readonly { name: string; state: string }[] },
): string[] {
  if (port === undefined) return []
  const secure = new Set(certified.names.filter(({ state }) => state === 'active').map(({ name }) => name))
  return names.map((name) =>
    tls && secure.has(name) ? urlOf('https', name, tls.port, 443) : urlOf('http', name, port, 80),
  )
}

const urlOf = (scheme: string, name: string, port: number, usual: number) =>
  port === usual ? `${scheme}://${name}` : `${scheme}://${name}:${port}`
