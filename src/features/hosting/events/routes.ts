/** `/events` and `/sites/:id/events`: what happened to sites, in pages and as it happens. */
import { Elysia, t } from 'elysia'
import { AppError } from '../../../core/errors.ts'
import { representPage, sendPage } from '../../../http/conditional.ts'
import type { EventStreams, Message } from '../../../http/event-stream.ts'
import type { Guard } from '../../../http/guard.ts'
import { type Call, operation } from '../../../http/operation.ts'
import { pageOfQuery, pageQuery } from '../../../http/page.ts'
import { closed, integerText, toInteger } from '../../../http/schema.ts'
import { inSubscription, siteParams, toSiteRef } from '../model.ts'
import type { EventLists } from './lists.ts'
import { SiteEventModel, toSiteEvent } from './model.ts'
import type { createOpenStream, Told } from './stream.ts'

const tag = 'Sites'
const KEPT = 'The oldest first. Events are kept for 30 days.'
const reading = { scope: 'sites:read', keepsToSubscription: true, keepsToSites: true } as const

const ofSubscription = {
  subscription_id: t.Optional(
    integerText({
      description: 'Whose events; absent, those of the default subscription, and all of them for an administrator',
    }),
  ),
}

const operations = {
  listEvents: operation('user', {
    ...reading,
    id: 'listEvents',
    summary: 'List what happened to the sites of a subscription',
    description: `${KEPT} Events of a site stay when the site is gone.`,
    tag,
    query: closed({ ...ofSubscription, ...pageQuery }),
    paged: true,
    data: t.Array(SiteEventModel),
    errors: ['forbidden', 'not_found'],
  }),
  streamEvents: operation('user', {
    ...reading,
    id: 'streamEvents',
    summary: 'Follow what happens to the sites of a subscription',
    description:
      'Server-sent events: `event` is the kind, `data` the event as `GET /events` lists it, `id` its id. To go on after a break, send the last id as `Last-Event-ID`; `event: reset` answers an id that is gone, and the client reads what it shows again. A comment is sent every ten seconds. The credential is checked again at each event and each comment; `event: end` says why a stream ends: with its credential, after an hour, or when the panel stops. Five streams per user may be open.',
    tag,
    query: closed(ofSubscription),
    stream: true,
    data: t.String(),
    errors: ['forbidden', 'not_found'],
  }),
  listSiteEvents: operation('user', {
    ...reading,
    id: 'listSiteEvents',
    summary: 'List what happened to a site',
    description: KEPT,
    tag,
    params: siteParams,
    query: closed({ ...inSubscription, ...pageQuery }),
    paged: true,
    data: t.Array(SiteEventModel),
    errors: ['forbidden', 'not_found'],
  }),
}

export type EventRoutesOptions = {
  guard: Guard
  lists: EventLists
  openStream: ReturnType<typeof createOpenStream>
  streams: EventStreams
}

export function eventRoutes({ guard, lists, openStream, streams }: EventRoutesOptions) {
  async function listEvents({ caller, query, context }: Call<typeof operations.listEvents>) {
    const page = await lists.ofSubscription(caller, toNamed(query), pageOfQuery(query))
    return sendPage(context, query, representPage(page, toSiteEvent))
  }

  async function streamEvents({ caller, query, context }: Call<typeof operations.streamEvents>) {
    const lastEventId = toEventId(context.request.headers.get('last-event-id'))
    const read = await openStream({ caller, named: toNamed(query), lastEventId })
    return streams.send(context, caller.userId, (ended) => messagesOf(read(ended)))
  }

  async function listSiteEvents({ caller, params, query, context }: Call<typeof operations.listSiteEvents>) {
    const page = await lists.ofSite(caller, toSiteRef(params, query), pageOfQuery(query))
    return sendPage(context, query, representPage(page, toSiteEvent))
  }

  return new Elysia()
    .use(guard)
    .get('/events', listEvents, operations.listEvents)
    .get('/events/stream', streamEvents, operations.streamEvents)
    .get('/sites/:id/events', listSiteEvents, operations.listSiteEvents)
}

async function* messagesOf(all: AsyncIterable<Told>): AsyncGenerator<Message> {
  for await (const told of all) yield toMessage(told)
}

function toMessage(told: Told): Message {
  if ('event' in told) return { id: told.event.id, event: told.event.kind, data: toSiteEvent(told.event) }
  if ('end' in told) return { event: 'end', data: told.end }
  if ('isSilent' in told) return {}
  return told.isReset ? { id: told.start, event: 'reset', data: {} } : { id: told.start }
}

const toNamed = ({ subscription_id: id }: { subscription_id?: string }) =>
  id === undefined ? undefined : toInteger(id)

/** @throws AppError `validation_error` */
function toEventId(header: string | null): number | undefined {
  if (header === null) return undefined
  if (!/^\d{1,15}$/.test(header)) throw new AppError('validation_error', 'Last-Event-ID: send the id of an event')
  return Number(header)
}
