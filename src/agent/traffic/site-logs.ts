/** The logs of sites on a node: written, counted, bounded, and read for the panel. */
import type { Clock } from '../../core/clock.ts'
import { startTasks } from '../../jobs/task.ts'
import type { Log } from '../../log/log.ts'
import type { DesiredChanges, LogKind, NodeLink } from '../../node/protocol.ts'
import { pruneLogFiles } from '../../site-logs/log-files.ts'
import { logsOf, type NodeLayout } from '../layout.ts'
import { createLogAnswers } from '../log-answers.ts'
import { PHP_LOGS_MS, rotatePhpLog, type SiteOnNode } from '../php-logs.ts'
import type { NameHistory } from '../web/name-history.ts'
import { webServerPid } from '../web/running.ts'
import { createSitePlaces } from './site-places.ts'
import { createTraffic, REPORT_MS, SPLIT_MS } from './traffic.ts'

export type SiteLogsOptions = {
  layout: NodeLayout
  /** The sites that have files here. */
  sites(): SiteOnNode[]
  history: NameHistory
  link: Pick<NodeLink, 'report'>
  clock: Clock
  log: Log
}

const HOUR_MS = 60 * 60 * 1000
const KINDS: readonly LogKind[] = ['access', 'php']

export type SiteLogs = ReturnType<typeof startSiteLogs>

export function startSiteLogs({ layout, sites, history, link, clock, log }: SiteLogsOptions) {
  const places = createSitePlaces({ layout, sites, elapsedMs: clock.elapsedMs })
  const traffic = createTraffic({
    layout,
    placeOf: places.placeOf,
    history,
    link,
    reopen: () => reopenWebLog(layout),
    clock,
    log,
  })
  const answer = createLogAnswers({ layout, sites, catchUp: traffic.split, link, log })

  async function rotatePhp(stopping: AbortSignal): Promise<void> {
    const { days } = traffic.rules()
    for (const site of sites()) {
      if (stopping.aborted) return
      await rotatePhpLog(layout, site, { now: clock.now(), days })
    }
  }

  /** Of sites that nobody visits too. */
  async function prune(stopping: AbortSignal): Promise<void> {
    traffic.tidy()
    const { days } = traffic.rules()
    for (const { subscriptionId, siteId } of sites()) {
      for (const kind of KINDS) {
        if (stopping.aborted) return
        await pruneLogFiles(logsOf(layout, subscriptionId, siteId), kind, { now: clock.now(), days })
      }
    }
  }

  async function report(): Promise<void> {
    await traffic.split()
    await traffic.report()
  }

  const stopTasks = startTasks([
    { everyMs: SPLIT_MS, run: traffic.split, log, failure: 'the access logs of sites were not written' },
    { everyMs: REPORT_MS, run: report, log, failure: 'requests to sites were not counted; they are counted later' },
    { everyMs: PHP_LOGS_MS, run: rotatePhp, log, failure: 'logs of PHP were not moved away' },
    { everyMs: HOUR_MS, run: prune, log, failure: 'old logs of sites were not deleted' },
  ])

  return {
    /** What the panel says of logs, and asks about them. Waits for nothing. */
    take({ siteLogs, logRequests = [] }: DesiredChanges): void {
      if (siteLogs) traffic.setRules(siteLogs)
      answer(logRequests)
    },

    /** @throws Error when the panel does not take it: it is reported with the next */
    report,

    /** Removes the logs of a site whose files are gone. */
    async remove(site: SiteOnNode): Promise<void> {
      await traffic.idle()
      await places.remove(site)
    },

    stop: stopTasks,
  }
}

/** No connection is dropped by it. @returns whether the web server runs */
function reopenWebLog(layout: NodeLayout): boolean {
  const pid = webServerPid(layout)
  if (pid !== undefined) process.kill(pid, 'SIGUSR1')
  return pid !== undefined
}
