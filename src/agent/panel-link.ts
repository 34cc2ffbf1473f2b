/** The panel, as a node on another machine, or beside it, sees it: over HTTP, with a token. */
import type { Clock } from '../core/clock.ts'
import { pause } from '../core/pause.ts'
import { type Backoff, delayAfter } from '../jobs/backoff.ts'
import type { Log } from '../log/log.ts'
import type { ArchiveSource, DesiredChanges, NodeDescription, NodeLink, NodeReport } from '../node/protocol.ts'
import { toWire } from '../node/wire.ts'
import { inPace } from './in-pace.ts'
import { createPanelClient, type PanelAddress, PanelError, type PanelRequest } from './panel-client.ts'
import { requestsOf } from './panel-report.ts'
import { createPanelToken } from './panel-token.ts'

export type PanelLinkOptions = {
  panel: PanelAddress
  /** Of `token-file.ts`. */
  tokenPath: string
  /** What this node runs, told to the panel with each whole state. */
  describe(): Promise<Omit<NodeDescription, 'time'>>
  clock: Clock
  log: Log
  /** Ends everything that is under way. */
  stopping: AbortSignal
}

/** Seconds that the panel holds a request for which there is nothing. */
const WAIT_SECONDS = 10
const BACKOFF: Backoff = { firstDelayMs: 1000, longestDelayMs: 60_000 }
/** A panel that answers a waiting request at once is asked again no sooner. */
const LEAST_MS = 1000
/** Attempts at one report: a restart of the panel is shorter. */
const ATTEMPTS = 4

export type PanelLink = NodeLink & ArchiveSource

/** @throws Error for an address that is no HTTPS, or a token file that holds none */
export function createPanelLink({ panel, tokenPath, describe, clock, log, stopping }: PanelLinkOptions): PanelLink {
  const client = createPanelClient(panel)
  const token = createPanelToken({ path: tokenPath, client, clock, log })
  /** In a row. */
  let failures = 0
  /** What holds for logs, as it was handed on last. */
  let rules: string | undefined
  /** What was learned while waiting, for the next question. */
  let known: { after: number; changes: DesiredChanges } | undefined

  /**
   * Asks once. After failures it waits first, longer with each, so that a panel that is down is not flooded.
   *
   * @param read takes the answer, or throws for one that is none
   */
  async function ask<Answer>(
    { method, path, body, signal }: Omit<PanelRequest, 'token'>,
    read: (answer: unknown) => Answer,
  ): Promise<Answer> {
    if (failures > 0) await pause(delayAfter(BACKOFF, failures), signal)
    signal.throwIfAborted()
    try {
      const answer = read(
        await client.ask({ method, path, token: token.get(), signal, ...(body !== undefined && { body }) }),
      )
      if (failures > 0) log.info({ failures }, 'the panel answers again')
      failures = 0
      return answer
    } catch (error) {
      if (!signal.aborted) failures++
      if (error instanceof PanelError && error.retryAfterMs !== undefined) await pause(error.retryAfterMs, signal)
      throw error
    }
  }

  async function stateAfter(revision: number, waitSeconds: number, signal: AbortSignal): Promise<DesiredChanges> {
    const path = `/state?after=${revision}&wait=${waitSeconds}`
    return ask({ method: 'GET', path, signal }, (answer) => requireChanges(answer, revision))
  }

  async function send(report: NodeReport): Promise<void> {
    for (const request of requestsOf(report)) {
      for (let attempt = 1; ; attempt++) {
        try {
          await ask({ method: 'POST', path: '/report', body: toWire(request), signal: stopping }, () => undefined)
          break
        } catch (error) {
          if (stopping.aborted || attempt === ATTEMPTS || !mayPass(error)) throw error
        }
      }
    }
  }

  async function introduce(): Promise<void> {
    const description = { ...(await describe()), time: clock.now() }
    await send({ sites: [], releases: [], removedSubscriptions: [], description })
  }

  return {
    async changesAfter(revision) {
      const learned = known?.after === revision ? known.changes : undefined
      known = undefined
      if (!learned && revision === 0) {
        await token.rotateIfDue(stopping)
        await introduce()
      }
      const changes = learned ?? (await stateAfter(revision, 0, stopping))
      rules = JSON.stringify(changes.siteLogs)
      return changes
    },

    async waitForChange(revision, signal) {
      const either = AbortSignal.any([signal, stopping])
      while (!either.aborted) {
        const askedAt = performance.now()
        try {
          const changes = await stateAfter(revision, WAIT_SECONDS, either)
          const hasOtherRules = JSON.stringify(changes.siteLogs) !== rules
          if (changes.subscriptions.length > 0 || changes.logRequests !== undefined || hasOtherRules) {
            known = { after: revision, changes }
            return
          }
          // A panel that does not wait is not asked in a loop.
          await pause(Math.max(0, LEAST_MS - (performance.now() - askedAt)), either)
        } catch (err) {
          if (!either.aborted)
            log.warn({ err }, 'the panel could not be asked for changes; what is served stays served')
        }
      }
    },

    report: send,

    async archive(sha256, signal) {
      const either = AbortSignal.any([signal, stopping])
      return inPace(either, (signal) =>
        client.download({ method: 'GET', path: `/archives/${sha256}`, token: token.get(), signal }),
      )
    },
  }
}

/** Whether another attempt may go better: the panel is down, busy or starting. */
const mayPass = (error: unknown) =>
  error instanceof PanelError && (error.status === undefined || error.status === 429 || error.status >= 500)

/** The shape alone: what is in it is checked before it is used. @throws PanelError */
function requireChanges(answer: unknown, after: number): DesiredChanges {
  const changes = answer as Partial<DesiredChanges> | null
  const isText = (value: unknown) => typeof value === 'string' && value !== '' && value.length <= 200
  const isWhole =
    typeof changes === 'object' &&
    changes !== null &&
    isText(changes.installationId) &&
    isText(changes.epoch) &&
    Number.isSafeInteger(changes.revision) &&
    (changes.revision ?? -1) >= after &&
    Array.isArray(changes.subscriptions) &&
    typeof changes.hasMore === 'boolean' &&
    (changes.logRequests === undefined || Array.isArray(changes.logRequests)) &&
    (changes.siteLogs === undefined || (typeof changes.siteLogs === 'object' && changes.siteLogs !== null)) &&
    // Or it would be asked for the same for ever.
    !(changes.hasMore && changes.subscriptions.length === 0)
  if (isWhole) return changes as DesiredChanges
  throw new PanelError('the panel answers with what is no state')
}
