/** Starts the metrics listener where the configuration asks for it. */
import { version } from '../../package.json' with { type: 'json' }
import { createMetricsToken } from '../http/metrics-token.ts'
import { watchEventLoop } from '../metrics/event-loop.ts'
import { type MetricsListener, serveMetrics } from '../metrics/listener.ts'
import type { Panel } from '../panel.ts'

/**
 * @returns undefined where none are wanted
 * @throws Error when the port is taken
 */
export function startMetrics(panel: Panel): MetricsListener | undefined {
  const { config, clock, log, backups, outbox, readiness, certificate, limiter, store, requests, passwords, embedded } =
    panel
  if (config.metricsPort === undefined) return undefined
  return serveMetrics(
    {
      version,
      startedAt: clock.now(),
      requests,
      refusals: limiter.refusals,
      passwords,
      store,
      sites: embedded.metrics,
      countWaitingEmails: outbox.countWaiting,
      newestBackupAt: backups.newestAt,
      isReady: readiness.is,
      certificateExpiresAt: () => certificate.get()?.expiresAt,
      eventLoopLag: watchEventLoop(),
    },
    {
      host: config.metricsHost,
      port: config.metricsPort,
      log,
      refuse:
        config.metricsToken === undefined ? undefined : createMetricsToken({ token: config.metricsToken, limiter }),
    },
  )
}
