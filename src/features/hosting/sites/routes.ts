/** `/sites`. */
import { Elysia, t } from 'elysia'
import type { Principal } from '../../../core/principal.ts'
import {
  pageSender,
  preconditionOf,
  representPage,
  type SentPage,
  sendChanged,
  sendResource,
} from '../../../http/conditional.ts'
import { envelope } from '../../../http/envelope.ts'
import type { Guard } from '../../../http/guard.ts'
import type { AnswerOnce } from '../../../http/idempotency/answer-once.ts'
import { operation } from '../../../http/operation.ts'
import { pageOfQuery, pageQuery } from '../../../http/page.ts'
import type { PageCache } from '../../../http/page-cache.ts'
import { closed, idParams } from '../../../http/schema.ts'
import { callerOf } from '../../../http/visit.ts'
import {
  ChangeSite,
  CreateSite,
  SiteModel,
  siteFilter,
  siteSearch,
  toNewSite,
  toSite,
  toSiteChanges,
  toSiteFilter,
  toSiteRef,
} from './model.ts'
import type { Sites } from './sites.ts'

const tag = 'Sites'
const sitesQuery = closed({ ...siteFilter, ...siteSearch, ...pageQuery })

export type SiteRoutesOptions = { guard: Guard; sites: Sites; pages: PageCache; answerOnce: AnswerOnce }

export function siteRoutes({ guard, sites, pages, answerOnce }: SiteRoutesOptions) {
  async function readPage(principal: Principal, query: typeof sitesQuery.static): Promise<SentPage> {
    return representPage(await sites.list(principal, toSiteFilter(query), pageOfQuery(query)), toSite)
  }

  return new Elysia({ prefix: '/sites' })
    .use(guard)
    .get(
      '',
      ({ principal, query, set, visit }) => {
        const page = pages.get('sites', principal, query, readPage)
        const send = pageSender({ set, visit, query })
        // In this form: Elysia reads the source, takes a call after `return` or `=>` for a promise, and would always wait.
        return page instanceof Promise ? page.then(send) : send(page)
      },
      {
        ...operation('user', {
          id: 'listSites',
          summary: 'List sites, or search them by domain',
          description:
            'Of the named subscription, or of the default one. An administrator who names none gets the sites of all.',
          scope: 'sites:read',
          confined: true,
          tag,
          paged: true,
          data: t.Array(SiteModel),
          errors: ['forbidden', 'not_found'],
        }),
        query: sitesQuery,
      },
    )
    .post(
      '',
      async ({ visit, query, body, set }) => {
        const newSite = toNewSite(body, query)
        return answerOnce({ set, visit, query, body }, (conclude) => sites.create(callerOf(visit), newSite, conclude), {
          message: 'Site created',
          toData: toSite,
          requireVisible: ({ subscription_id }) => sites.requireSubscription(callerOf(visit), subscription_id),
        })
      },
      {
        ...operation('user', {
          id: 'createSite',
          summary: 'Create a site',
          description:
            'In the named subscription, or in the default one, up to its limit. `subscription_id` may stand in the query, in the body, or the same in both; an administrator must name one.',
          scope: 'sites:write',
          confined: true,
          tag,
          body: true,
          idempotent: true,
          status: 201,
          data: SiteModel,
          message: 'Site created',
          errors: ['forbidden', 'not_found', 'conflict'],
        }),
        query: closed(siteFilter),
        body: CreateSite,
      },
    )
    .get(
      '/:id',
      async ({ principal, params, query, set, visit }) =>
        sendResource({ set, visit }, toSite(await sites.find(principal, toSiteRef({ params, query })))),
      {
        ...operation('user', {
          id: 'getSite',
          summary: 'Show a site',
          scope: 'sites:read',
          confined: true,
          tag,
          conditional: true,
          data: SiteModel,
          errors: ['forbidden', 'not_found'],
        }),
        params: idParams('Site id'),
        query: closed(siteFilter),
      },
    )
    .patch(
      '/:id',
      async ({ visit, params, query, body }) => {
        const ref = toSiteRef({ params, query })
        const site = await sites.change(callerOf(visit), ref, toSiteChanges(body), preconditionOf(visit, toSite))
        return sendChanged(visit, toSite(site), 'Site changed')
      },
      {
        ...operation('user', {
          id: 'changeSite',
          summary: 'Change a site',
          scope: 'sites:write',
          confined: true,
          tag,
          body: true,
          guarded: true,
          data: SiteModel,
          message: 'Site changed',
          errors: ['forbidden', 'not_found', 'conflict'],
        }),
        params: idParams('Site id'),
        query: closed(siteFilter),
        body: ChangeSite,
      },
    )
    .delete(
      '/:id',
      async ({ visit, params, query }) => {
        await sites.remove(callerOf(visit), toSiteRef({ params, query }), preconditionOf(visit, toSite))
        return envelope(null, 'Site deleted')
      },
      {
        ...operation('user', {
          id: 'deleteSite',
          summary: 'Delete a site',
          scope: 'sites:write',
          confined: true,
          tag,
          guarded: true,
          data: t.Null(),
          message: 'Site deleted',
          errors: ['forbidden', 'not_found', 'conflict'],
        }),
        params: idParams('Site id'),
        query: closed(siteFilter),
      },
    )
}
