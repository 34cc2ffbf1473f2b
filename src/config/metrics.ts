/** The settings of the metrics, and which of them belong together. */
import { isLoopback } from '../core/loopback.ts'
import { bearerToken, integer, text } from './rules.ts'
import type { Setting } from './schema.ts'

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
    help: 'address of the metrics; beyond this machine they need a token',
  },
  metricsPort: {
    env: 'NCP_METRICS_PORT',
    type: 'number',
    default: undefined,
    parse: integer(0, 65_535),
    help: 'port of the metrics, which Prometheus reads at /metrics; 0 takes a free one (default: no metrics)',
  },
  metricsToken: {
    env: 'NCP_METRICS_TOKEN',
    type: 'text',
    secret: true,
    default: undefined,
    parse: bearerToken,
    help: 'token that the metrics ask for, as Authorization: Bearer; openssl rand -hex 32 makes one',
  },
}

/** Whether others can reach the metrics, and nothing is asked of them. */
export function lacksMetricsToken(config: Partial<MetricsConfig>): boolean {
  const { metricsPort, metricsHost, metricsToken } = config
  // A value that broke its own rule is not there at all, and has been named already.
  const hasNoToken = 'metricsToken' in config && metricsToken === undefined
  return hasNoToken && metricsPort !== undefined && metricsHost !== undefined && !isLoopback(metricsHost)
}
