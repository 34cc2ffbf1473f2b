/** `/sites/:id/events`: what happened to a site. */
import { Elysia, t } from 'elysia'
import { formatTimestamp } from '../../../core/timestamp.ts'
import { representPage, sendPage } from '../../../http/conditional.ts'
import type { Guard } from '../../../http/guard.ts'
import { type Call, operation } from '../../../http/operation.ts'
import { pageOfQuery, pageQuery } from '../../../http/page.ts'
import { choice, closed, idOut, integerOut, timestampOut } from '../../../http/schema.ts'
import { inSubscription, siteParams, toSiteRef } from '../model.ts'
import { EVENT_KINDS, type SiteEvent } from './events.ts'
import type { Sites } from './sites.ts'

const SiteEventModel = t.Object(
  {
    id: idOut(),
    site_id: idOut(),
    kind: choice(EVENT_KINDS),
    generation: integerOut({ minimum: 1, examples: [2], description: 'Of the site at that time' }),
    details: t.Object({}, { additionalProperties: true, description: 'Details of the event, by name' }),
    created_at: timestampOut(),
  },
  { additionalProperties: false, title: 'SiteEvent' },
)

const operations = {
  listSiteEvents: operation('user', {
    id: 'listSiteEvents',
    summary: 'List what happened to a site',
    description: 'The oldest first. Events are kept for 30 days.',
    scope: 'sites:read',
    keepsToSubscription: true,
    tag: 'Sites',
    params: siteParams,
    query: closed({ ...inSubscription, ...pageQuery }),
    paged: true,
    data: t.Array(SiteEventModel),
    errors: ['forbidden', 'not_found'],
  }),
}

export function siteEventRoutes({ guard, sites }: { guard: Guard; sites: Sites }) {
  async function listSiteEvents({ caller, params, query, context }: Call<typeof operations.listSiteEvents>) {
    const page = await sites.listEvents(caller, toSiteRef(params, query), pageOfQuery(query))
    return sendPage(context, query, representPage(page, toSiteEvent))
  }

  return new Elysia({ prefix: '/sites' }).use(guard).get('/:id/events', listSiteEvents, operations.listSiteEvents)
}

function toSiteEvent({ id, siteId, kind, generation, details, createdAt }: SiteEvent) {
  return {
    id,
    site_id: siteId,
    kind,
    generation,
    details: JSON.parse(details) as object,
    created_at: formatTimestamp(createdAt),
  }
}
