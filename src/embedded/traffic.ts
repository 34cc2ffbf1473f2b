/** Writes the access logs of the sites that this process serves, and counts their requests, beside the answers. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../core/clock.ts'
import { unlessMissing } from '../core/error-code.ts'
import type { Log } from '../log/log.ts'
import type { LogRequest, NodeLink, SiteLogRules } from '../node/protocol.ts'
import { type AccessEntry, writeEntry } from '../site-logs/access-entry.ts'
import { createHourlyUsage } from '../site-logs/hourly-usage.ts'
import { pruneLogFiles } from '../site-logs/log-files.ts'
import { createLogWriter } from '../site-logs/log-writer.ts'
import { readLog } from '../site-logs/read-log.ts'
import { visitorAddress } from '../site-logs/visitor-address.ts'
import type { SiteRequest } from './fetch.ts'

/** Of requests that wait to be written: some ten megabytes at most. What comes beyond is counted, and not logged. */
const MAX_WAITING = 10_000

export type TrafficOptions = {
  /** Whether a site is here: of one that is gone, nothing is written any longer. */
  isServed(siteId: number): boolean
  /** Holds a directory for each site with a log, named after its id. */
  directory: string
  link: Pick<NodeLink, 'report'>
  readRules(): Promise<SiteLogRules>
  clock: Clock
  log: Log
}

export type Traffic = ReturnType<typeof createTraffic>

export function createTraffic({ directory, isServed, link, readRules, clock, log }: TrafficOptions) {
  const usage = createHourlyUsage()
  const directoryOf = (siteId: number | string) => join(directory, `${siteId}`)
  let rules: SiteLogRules = { days: 1, shortAddresses: true }
  const writer = createLogWriter({
    placeOf: (siteId) => (isServed(siteId) ? { directory: directoryOf(siteId) } : undefined),
    days: () => rules.days,
  })
  let waiting: { siteId: number; entry: AccessEntry }[] = []
  let lost = 0
  /** One at a time, so that lines stay in order. */
  let flushed: Promise<void> = Promise.resolve()

  async function write(): Promise<void> {
    if (waiting.length === 0) return
    const taken = waiting
    waiting = []
    if (lost > 0) log.warn({ lines: lost }, 'requests to sites were not logged: there were more than the disk takes')
    lost = 0
    rules = await readRules()
    const addressOf = (text: string) => visitorAddress(text, rules.shortAddresses)
    for (const [siteId, entries] of Map.groupBy(taken, ({ siteId }) => siteId)) {
      const lines = entries.map(({ entry }) => `${writeEntry({ ...entry, client: addressOf(entry.client) })}\n`)
      try {
        await writer.append(siteId, 'access', lines.join(''), clock.now())
      } catch (err) {
        log.error({ err, site_id: siteId, lines: lines.length }, 'the access log of a site was not written')
      }
    }
  }

  function flush(): Promise<void> {
    flushed = flushed.then(write)
    return flushed
  }

  return {
    /** Of the logs of a site. */
    directoryOf,

    /** On the path of every request: the line is written later. */
    observe({ siteId, request, status, bytes, durationMs, peer = '' }: SiteRequest): void {
      if (siteId === undefined) return
      const at = clock.now()
      usage.add(siteId, at, { status, bytes })
      if (waiting.length >= MAX_WAITING) {
        lost++
        return
      }
      const { url, method, headers } = request
      const entry: AccessEntry = {
        at,
        client: peer,
        scheme: url.startsWith('https:') ? 'https' : 'http',
        host: headers.get('host') ?? '',
        method,
        uri: url.slice(url.indexOf('/', url.indexOf('//') + 2)),
        status,
        bytes,
        durationMs,
        referer: headers.get('referer') ?? '',
        userAgent: headers.get('user-agent') ?? '',
      }
      waiting.push({ siteId, entry })
    },

    /** Writes the lines that wait. What cannot be written is lost, and mentioned in the panel's log. */
    flush,

    /** Reports what was counted. @throws Error when that fails; it is reported with the next */
    report: (): Promise<void> =>
      usage.report((batch) => link.report({ sites: [], releases: [], removedSubscriptions: [], usage: batch })),

    /** The last lines of a log of a site, the oldest first. */
    async read(request: LogRequest): Promise<string[]> {
      await flush()
      return readLog(directoryOf(request.siteId), request)
    },

    /** Deletes what is older than the rules say, of sites that nobody visits too. */
    async prune(stopping: AbortSignal): Promise<void> {
      const { days } = await readRules()
      for (const name of (await unlessMissing(readdir(directory))) ?? []) {
        if (stopping.aborted) return
        await pruneLogFiles(directoryOf(name), 'access', { now: clock.now(), days })
      }
    },
  }
}
