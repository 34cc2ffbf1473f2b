/** The settings of the metrics, and how they depend on each other. */
import { isLoopback } from '../core/loopback.ts'
import { bearerToken, integer, text } from './rules.ts'
import type { Setting } from './setting.ts'

export type MetricsConfig = {
  metricsHost: string
  metricsPort: number | undefined
  metricsToken: string | undefined
}

export const metricsSettings: { [Key in keyof MetricsConfig]: Setting<MetricsConfig[Key]> } = {
  metricsHost: {
    env: 'NCP_METRICS_HOST',
    type: 'text',
    default: '127.0.0.1',
    parse: text,
    help: 'address to serve metrics on; one that other machines can reach requires a token',
  },
  metricsPort: {
    env: 'NCP_METRICS_PORT',
    type: 'number',
    default: undefined,
    parse: integer(0, 65_535),
    help: 'port to serve metrics on, for Prometheus at /metrics; 0 picks a free one (default: no metrics)',
  },
  metricsToken: {
    env: 'NCP_METRICS_TOKEN',
    type: 'text',
    secret: true,
    default: undefined,
    parse: bearerToken,
    help: 'bearer token required to read the metrics; create one with openssl rand -hex 32',
  },
}

/** Whether others can reach the metrics, and nothing is asked of them. */
export function lacksMetricsToken(config: Partial<MetricsConfig>): boolean {
  const { metricsPort, metricsHost, metricsToken } = config
  // A value that broke its own rule is not there at all, and has been named already.
  const hasNoToken = 'metricsToken' in config && metricsToken === undefined
  return hasNoToken && metricsPort !== undefined && metricsHost !== undefined && !isLoopback(metricsHost)
}
