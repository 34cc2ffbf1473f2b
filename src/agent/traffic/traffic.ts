/** Gives each site of a node its own access log, and counts its requests: both from the one log of the web server. */
import { join } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import { createSingleFlight } from '../../jobs/single-flight.ts'
import type { Log } from '../../log/log.ts'
import type { NodeLink, SiteLogRules } from '../../node/protocol.ts'
import { type CountedUsage, createHourlyUsage } from '../../site-logs/hourly-usage.ts'
import { createLogWriter, type LogPlace } from '../../site-logs/log-writer.ts'
import { readJson, writeJson } from '../json-file.ts'
import type { NodeLayout } from '../layout.ts'
import { accessLogOf } from '../web/access-log.ts'
import type { NameHistory } from '../web/name-history.ts'
import { splitLines } from './split.ts'
import { createUnfinished } from './unfinished.ts'
import { type Chunk, createWebLog, type Place } from './web-log.ts'

/** Places and counts in one file: what is counted is never read again. */
type Saved = {
  places: readonly Place[]
  usage: CountedUsage
  rules: SiteLogRules
}

export type TrafficOptions = {
  layout: Pick<NodeLayout, 'webLogs'>
  /** Where the logs of a site are; undefined for one that is not here. */
  placeOf(siteId: number): LogPlace | undefined
  history: Pick<NameHistory, 'siteAt' | 'forget'>
  link: Pick<NodeLink, 'report'>
  /** Lets the web server open its log anew. @returns whether it runs */
  reopen(): boolean
  clock: Clock
  log: Log
}

/** A request is in the log of its site this long after it, or when someone reads that log. */
export const SPLIT_MS = 5000
export const REPORT_MS = 60 * 1000
/** The panel takes no hour that is older. */
const KEPT_MS = 7 * 24 * 60 * 60 * 1000

/** Before the panel has said anything: what shows least. */
const FIRST_RULES: SiteLogRules = { days: 14, shortAddresses: true }
const MOST_DAYS = 365

export const trafficPaths = ({ webLogs }: Pick<NodeLayout, 'webLogs'>) => ({
  saved: join(webLogs, 'split.json'),
  unfinished: join(webLogs, 'split.unfinished.json'),
})

export type Traffic = ReturnType<typeof createTraffic>

export function createTraffic({ layout, placeOf, history, link, reopen, clock, log }: TrafficOptions) {
  const paths = trafficPaths(layout)
  const { places, usage: counted, rules: told } = readSaved()
  const usage = createHourlyUsage(counted)
  let rules = told ?? FIRST_RULES
  const unfinished = createUnfinished(paths.unfinished)
  unfinished.undo(places ?? [])
  const writer = createLogWriter({ placeOf, days: () => rules.days })
  const webLog = createWebLog({
    path: accessLogOf(layout),
    places: places ?? [],
    reopen,
    onSkipped: (bytes) => log.warn({ bytes }, 'requests to sites were not logged: too many waited to be'),
    clock,
  })
  let ofNone = 0
  let unreadable = 0

  function readSaved(): Partial<Saved> {
    try {
      return readJson<Saved>(paths.saved) ?? {}
    } catch (err) {
      log.error({ err, path: paths.saved }, 'how far the web log was read is unknown: what is there is read again')
      return {}
    }
  }

  const save = () => writeJson(paths.saved, { places: webLog.places(), usage: usage.state(), rules } satisfies Saved)

  async function filesFor(siteIds: Iterable<number>, now: number): Promise<string[]> {
    const files: string[] = []
    for (const siteId of siteIds) {
      // Where that fails, appending does, and says so.
      const file = await writer.fileFor(siteId, 'access', now).catch(() => undefined)
      if (file !== undefined) files.push(file)
    }
    return files
  }

  async function append(lines: ReadonlyMap<number, string>, now: number): Promise<void> {
    for (const [siteId, text] of lines) {
      try {
        await writer.append(siteId, 'access', text, now)
      } catch (err) {
        log.error({ err, site_id: siteId }, 'the access log of a site was not written')
      }
    }
  }

  /** One that is killed at any point leaves what the next one takes back, or what is done. */
  async function splitChunk({ place, text, end }: Chunk): Promise<void> {
    const now = clock.now()
    const split = splitLines(text, { siteAt: history.siteAt, shortAddresses: rules.shortAddresses })
    unfinished.begin(place, await filesFor(split.lines.keys(), now))
    await append(split.lines, now)
    place.offset = end
    for (const { siteId, at, ...request } of split.counted) usage.add(siteId, at, request)
    ofNone += split.ofNone
    unreadable += split.unreadable
    save()
    unfinished.end()
  }

  const flight = createSingleFlight(async () => {
    for (let chunk = webLog.next(); chunk; chunk = webLog.next()) await splitChunk(chunk)
    webLog.tend()
  })

  return {
    /** Splits what the web server has written by now. @throws Error of the system; what was not split is split later */
    split: flight.next,

    /** Reports what was counted. @throws Error when that fails; it is reported with the next */
    report: (): Promise<void> =>
      usage.report(async (batch) => {
        // Sent again by the next one, if this one is killed: under the same id.
        save()
        await link.report({ sites: [], releases: [], removedSubscriptions: [], usage: batch })
      }),

    rules: () => rules,

    /** Takes what the panel says, if it can be meant. */
    setRules({ days, shortAddresses }: SiteLogRules): void {
      const isRight =
        Number.isSafeInteger(days) && days >= 1 && days <= MOST_DAYS && typeof shortAddresses === 'boolean'
      const isNew = days !== rules.days || shortAddresses !== rules.shortAddresses
      if (!isRight || !isNew) return
      rules = { days, shortAddresses }
      save()
    },

    /** Gives up what nobody takes any longer, and says what belonged to no site. */
    tidy(): void {
      const now = clock.now()
      history.forget(now)
      usage.forget(now - KEPT_MS)
      if (ofNone + unreadable > 0) log.info({ of_none: ofNone, unreadable }, 'requests belonged to no site')
      ofNone = 0
      unreadable = 0
    },

    /** Resolves when nothing is being split. */
    idle: flight.idle,
  }
}
