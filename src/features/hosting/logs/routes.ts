/** `/sites/:id/logs`: the last lines of a site's logs. */
import { Elysia, t } from 'elysia'
import { sendResource } from '../../../http/conditional.ts'
import type { Guard } from '../../../http/guard.ts'
import { type Call, operation } from '../../../http/operation.ts'
import { closed } from '../../../http/schema.ts'
import { siteParams, toSiteRef } from '../model.ts'
import type { Logs } from './logs.ts'
import { LogLine, logQuery, toLogFilter, toLogLine } from './model.ts'

const operations = {
  getSiteLogs: operation('user', {
    id: 'getSiteLogs',
    summary: 'Show the last lines of a log of a site',
    description:
      'The oldest of them first. There may be fewer than asked for where the lines are long, or where a search finds few in a large log. They hold the addresses of visitors, unless the operator has them cut. Of a site on a node, only `kind=php` can be read.',
    scope: 'logs:read',
    keepsToSubscription: true,
    keepsToSites: true,
    tag: 'Logs',
    params: siteParams,
    query: closed(logQuery),
    conditional: true,
    data: t.Array(LogLine),
    errors: ['forbidden', 'not_found', 'conflict'],
  }),
}

export function logRoutes({ guard, logs }: { guard: Guard; logs: Logs }) {
  async function getSiteLogs({ caller, params, query, context }: Call<typeof operations.getSiteLogs>) {
    const filter = toLogFilter(query)
    const lines = await logs.read(caller, toSiteRef(params, query), filter)
    return sendResource(
      context,
      lines.map((line) => toLogLine(filter.kind, line)),
    )
  }

  return new Elysia({ prefix: '/sites' }).use(guard).get('/:id/logs', getSiteLogs, operations.getSiteLogs)
}
