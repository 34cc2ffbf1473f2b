/** `/sites`: the sites of your subscriptions. */
import { Elysia, t } from 'elysia'
import type { Caller } from '../../../core/actor.ts'
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
import { type Call, operation } from '../../../http/operation.ts'
import { pageOfQuery, pageQuery } from '../../../http/page.ts'
import type { PageCache } from '../../../http/page-cache.ts'
import { closed } from '../../../http/schema.ts'
import { inSubscription, siteParams, toPatience, toSiteRef, waitQuery } from '../model.ts'
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
} from './model.ts'
import type { Serving } from './serving.ts'
import type { Site, Sites } from './sites.ts'

const sitesQuery = closed({ ...siteFilter, ...siteSearch, ...pageQuery })

const siteWait = waitQuery(
  'Answers once the node has reported on the newest generation, or with 404 once a site in deletion is gone',
)

const tag = 'Sites'

const operations = {
  listSites: operation('user', {
    id: 'listSites',
    summary: 'List sites, or search them by domain',
    description:
      'Lists the sites of the named subscription, or of the default one. An administrator who names none gets all sites.',
    scope: 'sites:read',
    keepsToSubscription: true,
    keepsToSites: true,
    tag,
    query: sitesQuery,
    paged: true,
    data: t.Array(SiteModel),
    errors: ['forbidden', 'not_found'],
  }),
  createSite: operation('user', {
    id: 'createSite',
    summary: 'Create a site',
    description:
      'Creates the site in the named subscription, or in the default one, up to its limit. It is `provisioning` until its node has seen it served. Send `subscription_id` in the query or in the body; in both, it must be the same. An administrator must name one.',
    scope: 'sites:write',
    keepsToSubscription: true,
    tag,
    query: closed(siteFilter),
    body: CreateSite,
    idempotent: true,
    status: 201,
    data: SiteModel,
    message: 'Site created',
    errors: ['forbidden', 'not_found', 'conflict'],
  }),
  getSite: operation('user', {
    id: 'getSite',
    summary: 'Show a site',
    description:
      'A script that has changed a site, or deployed to it, waits with `wait=observed` until that is served.',
    scope: 'sites:read',
    keepsToSubscription: true,
    keepsToSites: true,
    tag,
    params: siteParams,
    query: closed({ ...inSubscription, ...siteWait }),
    conditional: true,
    data: SiteModel,
    errors: ['forbidden', 'not_found'],
  }),
  changeSite: operation('user', {
    id: 'changeSite',
    summary: 'Change a site',
    scope: 'sites:write',
    keepsToSubscription: true,
    keepsToSites: true,
    tag,
    params: siteParams,
    query: closed(inSubscription),
    body: ChangeSite,
    takesIfMatch: true,
    data: SiteModel,
    message: 'Site changed',
    errors: ['forbidden', 'not_found', 'conflict'],
  }),
  deleteSite: operation('user', {
    id: 'deleteSite',
    summary: 'Delete a site',
    scope: 'sites:write',
    keepsToSubscription: true,
    keepsToSites: true,
    tag,
    params: siteParams,
    query: closed(inSubscription),
    takesIfMatch: true,
    description:
      'It is `deleting` until it is gone; then `GET` returns 404 and its names are free. In a suspended subscription, only an administrator can delete a site.',
    data: SiteModel,
    message: 'Site deletion started',
    errors: ['forbidden', 'not_found', 'conflict'],
  }),
}

export type SiteRoutesOptions = {
  guard: Guard
  sites: Sites
  serving: Serving
  pages: PageCache
  answerOnce: AnswerOnce
}

export function siteRoutes({ guard, sites, serving, pages, answerOnce }: SiteRoutesOptions) {
  const shown = (site: Site) => toSite(site, serving.of(site.nodeId))

  async function readPage(caller: Caller, query: typeof sitesQuery.static): Promise<SentPage> {
    return representPage(await sites.list(caller, toSiteFilter(query), pageOfQuery(query)), shown)
  }

  function listSites({ caller, query, context }: Call<typeof operations.listSites>) {
    const page = pages.get('sites', { caller, context, query }, readPage)
    const send = pageSender(context, query)
    // In this form because Elysia reads the source: it takes a call after `return` or `=>` for a promise, and waits.
    return page instanceof Promise ? page.then(send) : send(page)
  }

  async function createSite({ caller, context, query, body }: Call<typeof operations.createSite>) {
    const newSite = toNewSite(body, query)
    return answerOnce(
      operations.createSite,
      { caller, context, query, body },
      (conclude) => sites.create(caller, newSite, conclude),
      {
        toData: shown,
        requireVisible: ({ subscription_id }) => sites.requireSubscription(caller, subscription_id),
      },
    )
  }

  async function getSite({ caller, params, query, context }: Call<typeof operations.getSite>) {
    const ref = toSiteRef(params, query)
    const patienceMs = toPatience(query)
    const site = await (patienceMs === undefined
      ? sites.find(caller, ref)
      : sites.findObserved(caller, ref, patienceMs))
    return sendResource(context, shown(site))
  }

  async function changeSite({ caller, context, params, query, body }: Call<typeof operations.changeSite>) {
    const ref = toSiteRef(params, query)
    const site = await sites.change(caller, ref, toSiteChanges(body), preconditionOf(context, shown))
    return sendChanged(context, shown(site), operations.changeSite.message)
  }

  async function deleteSite({ caller, context, params, query }: Call<typeof operations.deleteSite>) {
    const site = await sites.remove(caller, toSiteRef(params, query), preconditionOf(context, shown))
    return envelope(shown(site), operations.deleteSite.message)
  }

  return new Elysia({ prefix: '/sites' })
    .use(guard)
    .get('', listSites, operations.listSites)
    .post('', createSite, operations.createSite)
    .get('/:id', getSite, operations.getSite)
    .patch('/:id', changeSite, operations.changeSite)
    .delete('/:id', deleteSite, operations.deleteSite)
}
