/** Answers the panel's questions about the logs of sites on this node. */
import { createSemaphore } from '../core/semaphore.ts'
import type { Log } from '../log/log.ts'
import type { LogRequest, NodeLink } from '../node/protocol.ts'
import { readLog } from '../site-logs/read-log.ts'
import { logsOf, type NodeLayout } from './layout.ts'
import type { SiteOnNode } from './php-logs.ts'

const AT_A_TIME = 2
const MOST_WAITING = 64
const MOST_LINES = 1000
const MAX_SEARCH = 1000

export type LogAnswersOptions = {
  layout: Pick<NodeLayout, 'logs'>
  /** The sites that have files here. */
  sites(): SiteOnNode[]
  /** Brings the logs up to now. */
  catchUp(): Promise<void>
  link: Pick<NodeLink, 'report'>
  log: Log
}

/** @returns takes questions as they come with the state, and waits for nothing */
export function createLogAnswers({ layout, sites, catchUp, link, log }: LogAnswersOptions) {
  const turns = createSemaphore(AT_A_TIME, MOST_WAITING)

  async function answer(request: LogRequest): Promise<void> {
    if (request.kind === 'access') await catchUp()
    const site = sites().find(({ siteId }) => siteId === request.siteId)
    const lines = site ? await readLog(logsOf(layout, site.subscriptionId, site.siteId), request) : []
    await link.report({ sites: [], releases: [], removedSubscriptions: [], logAnswers: [{ id: request.id, lines }] })
  }

  return (requests: readonly LogRequest[]): void => {
    for (const request of requests.filter(isQuestion)) {
      turns
        .run(() => answer(request))
        .catch((err) => log.warn({ err, site_id: request.siteId }, 'a log of a site could not be read for the panel'))
    }
  }
}

/** The panel is the less trusted side. */
function isQuestion({ id, siteId, kind, lines, search }: LogRequest): boolean {
  const isSearch = search === null || (typeof search === 'string' && search.length <= MAX_SEARCH)
  const isOfLog = ['access', 'error', 'php'].includes(kind) && Number.isSafeInteger(siteId)
  return typeof id === 'string' && isOfLog && Number.isSafeInteger(lines) && lines <= MOST_LINES && isSearch
}
