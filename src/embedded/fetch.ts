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
  overloaded,
  placeholder,
  suspended,
  unknownHost,
} from './pages.ts'
import { answerProbe, createProbe, PROBE_PREFIX } from './probe.ts'
import { bytesOf, type Reply, toResponse } from './reply.ts'
import { createSendFile } from './send-file.ts'
import { serveSite } from './serve-site.ts'
import type { ServedSite, SiteTable } from './site.ts'

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

export type SiteFetchOptions = {
  sites: SiteTable
  /** Whether a host is that of the panel, under which no site is served. */
  isOwnHost(host: string): boolean
  /** Random, at least 128 bits: see `probe.ts`. */
  probeToken: string
  log: Log
  clock?: Clock
  /** Called when an answer is made, not when it has been sent. */
  observe?(request: SiteRequest): void
}

export type SiteFetch = (request: Request, peer?: string) => Awaitable<Response>

export function createSiteFetch(options: SiteFetchOptions): SiteFetch {
  const { sites, isOwnHost, log, clock = systemClock, observe } = options
  const sendFile = createSendFile(createCompressedFiles())
  const isProbe = createProbe(options.probeToken)

  /** @throws AppError for a malformed Host */
  function siteOf(request: Request): { host: string; site: ServedSite } | undefined {
    const host = domainOf(request)
    if (host === undefined || isOwnHost(host)) return undefined
    const site = sites.find(host)
    return site && { host, site }
  }

  function asksForProbe(request: Request): boolean {
    if (!isRead(request) || !request.url.includes(PROBE_PREFIX)) return false
    return isProbe(URL.parse(request.url)?.pathname ?? '')
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

  function failed(error: unknown, siteId: number | undefined): Reply {
    if (error instanceof AppError) return badRequest
    if (['EMFILE', 'ENFILE'].includes(codeOf(error) ?? '')) return overloaded
    log.error({ err: error, site_id: siteId }, 'a file of a site could not be sent')
    return internalError
  }

  return (request, peer) => {
    const startedAt = clock.elapsedMs()
    let siteId: number | undefined
    let reply: Awaitable<Reply>
    try {
      const found = siteOf(request)
      siteId = found?.site.id
      // Not observed: no visitor sent it.
      if (found && asksForProbe(request)) return toResponse(request, answerProbe(found.site), clock)
      reply = found ? answer(request, found.host, found.site) : unknownHost
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
