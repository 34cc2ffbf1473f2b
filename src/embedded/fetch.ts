/** Answers every request to the sites that this process serves itself. */
import { type Awaitable, whenKnown } from '../core/awaitable.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import { codeOf } from '../core/error-code.ts'
import { AppError } from '../core/errors.ts'
import type { Log } from '../log/log.ts'
import { createCompressedFiles } from './compressed-files.ts'
import { domainOf } from './host.ts'
import {
  badRequest,
  disabled,
  internalError,
  methodNotAllowed,
  misdirected,
  overloaded,
  placeholder,
  redirectToHttps,
  suspended,
  unknownHost,
} from './pages.ts'
import { answerProbe, createProbe, PROBE_PREFIX } from './probe.ts'
import { bytesOf, type Reply, toResponse } from './reply.ts'
import { createSendFile } from './send-file.ts'
import { serveSite } from './serve-site.ts'
import type { ServedSite, SiteTable } from './site.ts'
import { CHALLENGE_PREFIX, type Challenges, PANEL } from './tls/challenges.ts'

export type SiteRequest = {
  /** Undefined for a host without a site. */
  siteId: number | undefined
  /** As it came: its header fields are read only where they are needed. */
  request: Request
  status: number
  /** Of the body of the answer. */
  bytes: number
  /** Until the answer was made. */
  durationMs: number
  /** The address of the socket. */
  peer: string | undefined
}

export type SecureNames = {
  /** Whether a name is served with a certificate that has not expired. */
  isSecure(name: string): boolean
  port(): number
}

export type SiteFetchOptions = {
  sites: SiteTable
  /** Whether a host is that of the panel, under which no site is served. */
  isOwnHost(host: string): boolean
  /** Random, at least 128 bits: see `probe.ts`. */
  probeToken: string
  challenges?: Challenges
  /** Undefined where sites are not served over HTTPS. */
  secure?: SecureNames
  log: Log
  clock?: Clock
  /** Called when an answer is made, not when it has been sent. */
  observe?(request: SiteRequest): void
}

/** @param isOverTls whether the request came over HTTPS */
export type SiteFetch = (request: Request, peer?: string, isOverTls?: boolean) => Awaitable<Response>

/** Of all paths that are no site's (RFC 8615). */
const WELL_KNOWN = '/.well-known/'

export function createSiteFetch(options: SiteFetchOptions): SiteFetch {
  const { sites, isOwnHost, challenges, secure, log, clock = systemClock, observe } = options
  const sendFile = createSendFile(createCompressedFiles())
  const isProbe = createProbe(options.probeToken)

  /** What a site answers without looking at its files. */
  function answerWellKnown(request: Request, site: ServedSite): Reply | undefined {
    if (!isRead(request) || !request.url.includes(WELL_KNOWN)) return undefined
    const path = URL.parse(request.url)?.pathname ?? ''
    if (path.startsWith(PROBE_PREFIX) && isProbe(path)) return answerProbe(site)
    return challenges?.answer(site.id, path)
  }

  function answer(request: Request, host: string, site: ServedSite): Awaitable<Reply> {
    if (site.state === 'suspended') return suspended
    if (site.state === 'disabled') return disabled
    if (!isRead(request)) return methodNotAllowed
    const url = URL.parse(request.url)
    if (!url) return badRequest
    if (site.root === undefined) return placeholder(host)
    return serveSite(request, url, { root: site.root, spa: site.spa }, sendFile)
  }

  /** @returns where to go over HTTPS; undefined for what is answered as it came */
  function upgrade(request: Request, host: string, site: ServedSite): Reply | undefined {
    if (site.state !== 'serving' || !isRead(request) || !secure?.isSecure(host)) return undefined
    const url = URL.parse(request.url)
    // A site may prove itself to an authority of its own, by a file.
    if (!url || url.pathname.startsWith(CHALLENGE_PREFIX)) return undefined
    return redirectToHttps(secureHost(request, host, secure.port()), url)
  }

  function failed(error: unknown, siteId: number | undefined): Reply {
    if (error instanceof AppError) return badRequest
    if (['EMFILE', 'ENFILE'].includes(codeOf(error) ?? '')) return overloaded
    log.error({ err: error, site_id: siteId }, 'a file of a site could not be sent')
    return internalError
  }

  function answerUnknown(request: Request, host: string | undefined, isOverTls: boolean): Reply {
    if (isOverTls) return misdirected
    const isChallenge = challenges && host !== undefined && isRead(request) && request.url.includes(CHALLENGE_PREFIX)
    const path = isChallenge ? URL.parse(request.url)?.pathname : undefined
    return (path !== undefined && challenges?.answer(PANEL, path)) || unknownHost
  }

  return (request, peer, isOverTls = false) => {
    const startedAt = clock.elapsedMs()
    let siteId: number | undefined
    let reply: Awaitable<Reply>
    try {
      const host = domainOf(request)
      const site = host === undefined || isOwnHost(host) ? undefined : sites.find(host)
      siteId = site?.id
      if (host === undefined || site === undefined) reply = answerUnknown(request, host, isOverTls)
      else {
        const wellKnown = answerWellKnown(request, site)
        // Not observed: no visitor sent it.
        if (wellKnown) return toResponse(request, wellKnown, clock)
        if (isOverTls) reply = secure?.isSecure(host) ? answer(request, host, site) : misdirected
        else reply = upgrade(request, host, site) ?? answer(request, host, site)
      }
    } catch (error) {
      reply = failed(error, siteId)
    }
    if (reply instanceof Promise) reply = reply.catch((error) => failed(error, siteId))
    return whenKnown(reply, (reply) => {
      const { status } = reply
      const durationMs = clock.elapsedMs() - startedAt
      observe?.({ siteId, request, status, bytes: bytesOf(request, reply), durationMs, peer })
      return toResponse(request, reply, clock)
    })
  }
}

const isRead = ({ method }: Request) => method === 'GET' || method === 'HEAD'

/** A client that used the usual port for HTTP finds HTTPS at the usual one too, whatever ports lead there. */
function secureHost(request: Request, host: string, port: number): string {
  const isUsual = !/:(?!80$)\d+$/.test(request.headers.get('host') ?? '')
  return isUsual || port === 443 ? host : `${host}:${port}`
}
