/** The port on which this process serves sites. */
import { inTime } from '../core/in-time.ts'
import { type ListenerOptions, openListener } from '../tls/listener.ts'
import type { SiteFetch } from './fetch.ts'
import { internalError } from './pages.ts'

export type SiteListener = ReturnType<typeof openSiteListener>

export type SiteListenerOptions = Pick<ListenerOptions, 'host' | 'port'> & { fetch: SiteFetch }

/**
 * Opens it, with the limits of the panel's own listener.
 *
 * @throws Error when the port is taken
 */
export function openSiteListener({ fetch: answer, host, port }: SiteListenerOptions) {
  const listener = openListener((request) => answer(request, listener.peerAddress(request)), {
    host,
    port,
    tls: undefined,
    handsOver: false,
    error: lastResort,
  })
  const { retire, drain, cut } = listener

  return {
    port: listener.port,
    retire,
    drain,
    cut,

    /**
     * Takes no more connections, and resolves when the requests in flight are answered or `drainMs` have passed. To stop
     * it together with the panel's listener, call `retire`, `drain` and `cut`, as `lifecycle/stop.ts` does.
     */
    async stop(drainMs = 0): Promise<void> {
      retire()
      await inTime(drain(), drainMs)
      await cut()
    },
  }
}

/** Answers where even the handler fails. */
export const lastResort = (): Response => new Response(internalError.body as Bun.BodyInit, internalError)
