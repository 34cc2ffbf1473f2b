/** Reads events as they happen, for as long as the reader has the right to see them. */
import type { Caller } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError, catalogue } from '../../../core/errors.ts'
import { inTime } from '../../../core/in-time.ts'
import type { CommitSignal } from '../../../db/commit-signal.ts'
import type { Queries } from '../../../db/store.ts'
import type { ReadAs } from '../../account/credentials/write-as.ts'
import type { SubscriptionScope } from '../subscriptions/scope.ts'
import { eventsAfter, isKept, newestId, type SiteEvent, topicFor } from './events.ts'
import type { News } from './news.ts'

export type EventStreamOptions = {
  readAs: ReadAs
  scope: SubscriptionScope
  clock: Clock
  commits: CommitSignal
  news: News
  /** The longest silence; below the 15 seconds after which the listener closes a connection. */
  silenceMs?: number
}

/** What a request asks for. */
export type Wanted = {
  caller: Caller
  /** The subscription that it names. */
  named: number | undefined
  /** The last event that its sender has seen. */
  lastEventId: number | undefined
}

const HOUR_MS = 60 * 60 * 1000
const SILENCE_MS = 10_000
/** Read at a time. */
const PIECE = 100

/** What a reader is told: where it begins, what happens, that nothing happens, and why there is no more. */
export type Told =
  | { start: number; isReset: boolean }
  | { event: SiteEvent }
  | { isSilent: true }
  | { end: { reason: string; message: string } }

type Look = { events: SiteEvent[] } | { end: { reason: string; message: string } }

export function createOpenStream({ readAs, scope, clock, commits, news, silenceMs = SILENCE_MS }: EventStreamOptions) {
  /** Undefined for all. */
  const subscriptionOf = async (queries: Queries, caller: Caller, named: number | undefined) =>
    (await scope.resolve(queries, caller, named))?.id

  /**
   * Finds out where to begin; what it returns reads from there on.
   *
   * @throws AppError `not_found`, `forbidden`
   */
  return async ({ caller, named, lastEventId }: Wanted) => {
    const { subscriptionId, start, isGone } = await readAs(caller, async (queries, caller) => {
      const subscriptionId = await subscriptionOf(queries, caller, named)
      const isResumed =
        lastEventId !== undefined && (await isKept(queries, topicFor(caller, subscriptionId), lastEventId))
      const start = isResumed ? lastEventId : await newestId(queries)
      return { subscriptionId, start, isGone: lastEventId !== undefined && !isResumed }
    })
    const endsAt = clock.now() + HOUR_MS

    /** Proves the caller, and that it still reads the same subscription. */
    async function look(after: number): Promise<Look> {
      if (commits.stopping.aborted) return ended('stopping', 'The panel is stopping; connect again')
      if (clock.now() >= endsAt) return ended('hour_over', 'A stream lasts an hour; connect again')
      try {
        return await readAs(caller, async (queries, caller) => {
          // Another subscription has become the default one, for example.
          if ((await subscriptionOf(queries, caller, named)) !== subscriptionId)
            return ended('moved', 'The subscription has changed; connect again')
          return { events: await eventsAfter(queries, topicFor(caller, subscriptionId), after, PIECE) }
        })
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        return ended(catalogue[error.code].error, error.message)
      }
    }

    return async function* read(signal: AbortSignal): AsyncGenerator<Told, void> {
      const seat = news.join(topicFor(caller, subscriptionId))
      signal.addEventListener('abort', seat.wake)
      try {
        let position = start
        yield { start, isReset: isGone }
        for (let isSilent = false; !signal.aborted; ) {
          const change = seat.next()
          const seen = await look(position)
          if ('end' in seen) return yield seen
          for (const event of seen.events) yield { event }
          position = seen.events.at(-1)?.id ?? position
          if (seen.events.length === PIECE) continue
          if (isSilent && seen.events.length === 0) yield { isSilent }
          isSilent = !(await inTime(change.then(isNews), Math.min(silenceMs, untilExpiry(caller))))
        }
      } finally {
        seat.leave()
      }
    }
  }

  /** So that a stream ends when its credential does, not at the next event. */
  function untilExpiry({ credential: { expiresAt } }: Caller): number {
    return expiresAt === null ? Number.POSITIVE_INFINITY : Math.max(1, expiresAt - clock.now())
  }
}

const isNews = () => true

const ended = (reason: string, message: string) => ({ end: { reason, message } })
