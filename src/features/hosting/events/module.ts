/** Events: what happened to the sites of a subscription, for pages and scripts that follow it. */

import { panelItself } from '../../../core/actor.ts'
import { nextTurn } from '../../../core/next-turn.ts'
import { createEventStreams } from '../../../http/event-stream.ts'
import type { Module } from '../../../module.ts'
import type { Platform } from '../../../platform.ts'
import type { ReadAs, WriteAs } from '../../account/credentials/write-as.ts'
import type { SubscriptionScope } from '../subscriptions/scope.ts'
import { pruneEvents, recordEvent } from './events.ts'
import { createEventLists } from './lists.ts'
import { createNews } from './news.ts'
import { eventRoutes } from './routes.ts'
import { createOpenStream } from './stream.ts'

export type EventsNeeds = Platform & { readAs: ReadAs; writeAs: WriteAs; subscriptionScope: SubscriptionScope }

const HOUR_MS = 60 * 60 * 1000

export function eventsModule(needs: EventsNeeds) {
  const { store, clock, commits, deletableBefore, storageLog, readAs, writeAs, subscriptionScope: scope } = needs
  const lists = createEventLists({ store, scope })
  const streams = createEventStreams()
  const openStream = createOpenStream({ readAs, scope, clock, commits, news: createNews({ store, commits }) })

  async function pruneAll(stopping: AbortSignal): Promise<void> {
    const pruneSome = () => writeAs(panelItself, (tx) => pruneEvents(tx, deletableBefore()))
    while (!stopping.aborted && (await pruneSome()) > 0) await nextTurn()
  }

  return {
    services: { recordEvent },
    routes: ({ guard }) => [eventRoutes({ guard, lists, openStream, streams })],
    tasks: [{ everyMs: HOUR_MS, run: pruneAll, log: storageLog, failure: 'old events not deleted' }],
  } satisfies Module
}
