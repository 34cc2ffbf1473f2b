/** `/sites/:id/usage`: how many requests a site gets. */
import { Elysia, t } from 'elysia'
import type { Clock } from '../../../core/clock.ts'
import { sendResource } from '../../../http/conditional.ts'
import type { Guard } from '../../../http/guard.ts'
import { type Call, operation } from '../../../http/operation.ts'
import { closed } from '../../../http/schema.ts'
import { siteParams, toSiteRef } from '../model.ts'
import { toRange, toUsageHour, UsageHour, usageQuery } from './model.ts'
import type { Usage } from './usage.ts'

const operations = {
  getSiteUsage: operation('user', {
    id: 'getSiteUsage',
    summary: 'Show how much a site is used, by the hour',
    description:
      'The oldest hour first; hours without a request are left out. The counts are up to a minute old, and kept for 62 days.',
    scope: 'sites:read',
    keepsToSubscription: true,
    keepsToSites: true,
    tag: 'Sites',
    params: siteParams,
    query: closed(usageQuery),
    conditional: true,
    data: t.Array(UsageHour),
    errors: ['forbidden', 'not_found'],
  }),
}

export function usageRoutes({ guard, usage, clock }: { guard: Guard; usage: Usage; clock: Clock }) {
  async function getSiteUsage({ caller, params, query, context }: Call<typeof operations.getSiteUsage>) {
    const hours = await usage.list(caller, toSiteRef(params, query), toRange(query, clock.now()))
    return sendResource(context, hours.map(toUsageHour))
  }

  return new Elysia({ prefix: '/sites' }).use(guard).get('/:id/usage', getSiteUsage, operations.getSiteUsage)
}
