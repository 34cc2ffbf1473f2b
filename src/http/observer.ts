/** What became of a request, for log and metrics: asked once its response is made, also for 404, refusals and failures. */
import type { RequestLog } from '../core/log.ts'
import type { ServedRequest } from '../core/served-request.ts'
import type { Visit } from './visit.ts'

export type ObserverOptions = {
  /** The pattern of a path; undefined for one that nothing serves. */
  routeOf(path: string): string | undefined
  log: RequestLog
  count(request: ServedRequest): void
}

/** All paths that nothing serves are one route: a client must not be able to invent new ones in logs and metrics. */
const NO_ROUTE = 'none'

export function createObserver({ routeOf, log, count }: ObserverOptions) {
  return ({ request, requestId, startedAt, path, principal, client }: Visit, status: number): void => {
    const durationMs = performance.now() - startedAt
    const route = routeOf(path) ?? NO_ROUTE
    // A balancer asks every second or so, and learns nothing new.
    const isRoutine = (path === '/livez' || path === '/readyz') && status < 400
    const served: ServedRequest = {
      requestId,
      method: request.method,
      route,
      status,
      durationMs: Math.round(durationMs * 1000) / 1000,
      userId: principal?.userId ?? null,
      credential: principal?.credential.kind ?? 'none',
      client: client.address,
    }
    count(served)
    log.request(served, isRoutine ? 'debug' : 'info')
  }
}
