/** Serves the metrics on their own port, by default only to this machine. */
import type { Log } from '../log/log.ts'
import type { MetricSources } from './registry.ts'

export type MetricsListener = { url: string }

type Options = {
  host: string
  port: number
  log: Log
  /** Answers a request that may not read the metrics; undefined for one that may. */
  refuse?: ((request: Request, address: string | undefined) => Promise<Response | undefined>) | undefined
}

/**
 * It keeps no process alive.
 *
 * @throws Error when the port is taken
 */
export function serveMetrics(sources: MetricSources, { host, port, log, refuse }: Options): MetricsListener {
  // Loaded at the first scrape: a start has no time for it.
  let registry: Promise<ReturnType<typeof import('./registry.ts').createRegistry>> | undefined

  async function answer(request: Request, server: Bun.Server<undefined>): Promise<Response> {
    const refusal = await refuse?.(request, server.requestIP(request)?.address)
    if (refusal) return refusal
    // Without a host, or with a wrong one, it is a path alone.
    if (URL.parse(request.url, 'http://localhost')?.pathname !== '/metrics')
      return new Response('See /metrics\n', { status: 404 })
    registry ??= import('./registry.ts').then(({ createRegistry }) => createRegistry(sources))
    const loaded = await registry
    return new Response(await loaded.metrics(), { headers: { 'content-type': loaded.contentType } })
  }

  const server = open({
    hostname: host,
    port,
    fetch: answer,
    error(err) {
      log.error({ err }, 'metrics could not be read')
      return new Response('The log says why\n', { status: 500 })
    },
  })
  server.unref()
  return { url: new URL('/metrics', server.url).href }
}

function open(options: Parameters<typeof Bun.serve>[0] & { port: number }) {
  try {
    return Bun.serve({ ...options, development: false, reusePort: false })
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (code !== 'EADDRINUSE') throw error
    throw new Error(`port ${options.port} for metrics is in use; choose another one with NCP_METRICS_PORT`)
  }
}
