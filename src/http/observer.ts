/** Reports the outcome of every request to the log and the metrics, once its response is made. */

import type { ServedRequest } from '../core/served-request.ts'
import type { RequestLog } from '../log/log.ts'
import type { RequestContext } from './request-context.ts'

export type ObserverOptions = {
  log: RequestLog
  count(request: ServedRequest): void
}

/** All unknown paths are one route: clients must not be able to create new ones in logs and metrics. */
const NO_ROUTE = 'none'

export function createObserver({ log, count }: ObserverOptions) {
  return (
    { request, requestId, startedAt, path, route, principal, node, rejection, client }: RequestContext,
    status: number,
  ): void => {
    const durationMs = performance.now() - startedAt
    // A load balancer asks every second or so and learns nothing new.
    const isRoutine = (path === '/livez' || path === '/readyz') && status < 400
    const served: ServedRequest = {
      requestId,
      method: request.method,
      route: route?.pattern ?? NO_ROUTE,
      status,
      durationMs: Math.round(durationMs * 1000) / 1000,
      userId: principal?.userId ?? null,
      credential: principal?.credential.kind ?? (node ? 'node' : 'none'),
      nodeId: node?.nodeId,
      client: client.address,
      rejected: rejection?.reason,
    }
    count(served)
    log.request(served, isRoutine ? 'debug' : 'info')
  }
}
