/** The listening port: changes its certificate without a failed request, and drains at the end. */

import { IDLE_TIMEOUT_SECONDS, type ListenOptions, listen, type Tls, type TlsByName } from '../http/listen.ts'
import type { sharePort } from '../system/shared-port.ts'

type SharedPort = ReturnType<typeof sharePort>
type Fetch = Parameters<typeof listen>[0]

type Server = {
  port: number | undefined
  peerAddress(request: Request): string | undefined
  setIdleTimeout(request: Request, seconds: number): void
  stop(cut?: boolean): Promise<void>
  /** From now on every answer tells its client to come back on a new connection. */
  retire(): void
}

export type Listener = ReturnType<typeof openListener>

/** By then every connection to a replaced certificate has had an answer with `Connection: close`, or was idle. */
const RETIREMENT_MS = 2 * IDLE_TIMEOUT_SECONDS * 1000

export type ListenerOptions = ListenOptions & {
  /** Whether a new certificate may take the port over; else the port is closed for a moment. */
  handsOver: boolean
}

/** @throws Error when the port is taken or the certificate unusable */
export function openListener(fetch: Fetch, { handsOver, ...options }: ListenerOptions) {
  let current = start(fetch, options)
  const port = current.port ?? options.port
  const servers = new Set([current])
  let sharedPort: SharedPort | undefined
  let isDraining = false
  let served = options.tls

  function stop(server: Server): Promise<void> {
    const stopping = server.stop()
    sharedPort?.closed()
    return stopping.then(() => {
      servers.delete(server)
    })
  }

  /** The newer listener is there before the older one is closed. */
  async function takeOver(tls: Tls | TlsByName): Promise<void> {
    // Loaded when it is needed, which may be never.
    sharedPort ??= (await import('../system/shared-port.ts')).sharePort(port)
    if (isDraining) return
    const previous = current
    current = sharedPort.takeOver(() => start(fetch, { ...options, port, tls, reusePort: true }))
    servers.add(current)
    previous.retire()
    setTimeout(stop, RETIREMENT_MS, previous).unref()
  }

  /** The older listener is closed first. A client that connects at that moment is refused, or reset, and has to try again. */
  function reopen(tls: Tls | TlsByName): void {
    if (isDraining) return
    current.retire()
    void stop(current)
    try {
      current = start(fetch, { ...options, port, tls })
      served = tls
    } catch (error) {
      current = start(fetch, { ...options, port, tls: served })
      throw error
    } finally {
      servers.add(current)
    }
  }

  return {
    port,

    /** @returns the address of the request's socket, undefined once that is gone */
    peerAddress: (request: Request) => current.peerAddress(request),

    /** Changes after how many silent seconds the connection of a request is closed. */
    setIdleTimeout: (request: Request, seconds: number) => current.setIdleTimeout(request, seconds),

    /**
     * Serves new connections with another certificate. Those that are open keep theirs until their next answer.
     *
     * @throws Error when the certificate is unusable, or the system cannot do it; then all stays as it was
     */
    async changeCertificate(tls: Tls | TlsByName): Promise<void> {
      if (handsOver) await takeOver(tls)
      else reopen(tls)
    },

    /** Every answer from now on tells its client to come back on a new connection. */
    retire(): void {
      for (const server of servers) server.retire()
    },

    /** Takes no more connections. Resolves when the requests in flight are answered. */
    async drain(): Promise<void> {
      isDraining = true
      await Promise.all([...servers].map(stop))
    },

    /** Cuts all connections, whatever is in flight. */
    async cut(): Promise<void> {
      await Promise.all([...servers].map((server) => server.stop(true)))
    },
  }
}

function start(fetch: Fetch, options: ListenOptions): Server {
  let isRetired = false
  const server = listen((request) => {
    const response = fetch(request)
    return isRetired ? closing(response) : response
  }, options)
  return {
    port: server.port,
    // Of a request to any server of the process.
    peerAddress: (request) => server.requestIP(request)?.address,
    setIdleTimeout: (request, seconds) => server.timeout(request, seconds),
    stop: (cut) => server.stop(cut),
    retire() {
      isRetired = true
    },
  }
}

async function closing(answer: Response | Promise<Response>): Promise<Response> {
  const response = await answer
  response.headers.set('connection', 'close')
  return response
}
