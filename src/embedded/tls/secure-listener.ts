/** The port on which this process serves sites over HTTPS, each name with its certificate. */
import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import type { Clock } from '../../core/clock.ts'
import { inTime } from '../../core/in-time.ts'
import { pause } from '../../core/pause.ts'
import type { Tls } from '../../http/listen.ts'
import { createSingleFlight } from '../../jobs/single-flight.ts'
import type { LoadedCertificate } from '../../node/site-certificates.ts'
import { type ListenerOptions, openListener } from '../../tls/listener.ts'
import type { SiteFetch } from '../fetch.ts'
import { lastResort } from '../listener.ts'

export type SecureListenerOptions = Pick<ListenerOptions, 'host' | 'port' | 'handsOver'> & {
  fetch: SiteFetch
  /** Shown to those who ask for another name: the runtime cannot refuse them. */
  placeholder: Tls
  clock: Clock
}

export type SecureListener = ReturnType<typeof openSecureListener>

/** Each change opens the port anew with all certificates, and the one before lives on for half a minute. */
const SHORTEST_GAP_MS = 1000
/** Opening it with thousands of certificates takes a while, in which nothing else is done. */
const GAP_PER_OPENING = 20

/** @throws Error when the port is taken */
export function openSecureListener({ fetch: answer, placeholder, clock, ...options }: SecureListenerOptions) {
  const stopping = new AbortController()
  const wanted = new Map<number, readonly LoadedCertificate[]>()
  /** By name, when the certificate expires with which it is served now. */
  let served = new Map<string, number>()
  let mayOpenAt = 0
  const listener = openListener((request) => answer(request, listener.peerAddress(request), true), {
    ...options,
    tls: [placeholder],
    error: lastResort,
  })
  const { retire, drain, cut } = listener

  async function apply(): Promise<void> {
    await pause(Math.max(0, mayOpenAt - performance.now()), stopping.signal)
    if (stopping.signal.aborted) return
    const certificates = [...wanted.values()].flat()
    const begun = performance.now()
    await listener.changeCertificate([
      placeholder,
      ...certificates.flatMap(({ cert, key, names }) => names.map((serverName) => ({ cert, key, serverName }))),
    ])
    const ended = performance.now()
    mayOpenAt = ended + Math.max(SHORTEST_GAP_MS, GAP_PER_OPENING * (ended - begun))
    served = new Map(
      certificates.flatMap(({ cert, names }) => {
        const expiresAt = Date.parse(new X509Certificate(cert).validTo)
        return names.map((name) => [name, expiresAt] as const)
      }),
    )
  }

  const applying = createSingleFlight(apply)

  return {
    port: listener.port,
    retire,
    drain,
    cut,

    /** Whether a name is served with a certificate that has not expired. */
    isSecure: (name: string): boolean => (served.get(name) ?? 0) > clock.now(),

    /**
     * Serves the names of a site with these certificates, in place of those that it had.
     *
     * @returns once they are served; several changes wait for one new listener
     * @throws Error for a certificate or key that cannot be used; then the site keeps what it had
     */
    async set(siteId: number, certificates: readonly LoadedCertificate[]): Promise<void> {
      const before = wanted.get(siteId) ?? []
      if (isSame(before, certificates)) return applying.idle()
      // One that the runtime does not take must not keep others from being served.
      for (const { cert, key } of certificates) createSecureContext({ cert, key })
      if (certificates.length > 0) wanted.set(siteId, certificates)
      else wanted.delete(siteId)
      await applying.next()
    },

    /** Takes no more connections, and resolves when the requests in flight are answered or `drainMs` have passed. */
    async stop(drainMs = 0): Promise<void> {
      stopping.abort()
      retire()
      await inTime(drain(), drainMs)
      await cut()
    },
  }
}

function isSame(some: readonly LoadedCertificate[], others: readonly LoadedCertificate[]): boolean {
  const keyOf = ({ id, names }: LoadedCertificate) => `${id} ${names.join(' ')}`
  return some.map(keyOf).sort().join('\n') === others.map(keyOf).sort().join('\n')
}
