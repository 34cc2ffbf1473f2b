/** `/admin/users/:id/api-keys`: what keys a user has, and the end of one. */
import { Elysia, t } from 'elysia'
import { representPage, sendPage } from '../../../http/conditional.ts'
import { envelope } from '../../../http/envelope.ts'
import type { Guard } from '../../../http/guard.ts'
import { operation } from '../../../http/operation.ts'
import { pageOfQuery, pageQuery } from '../../../http/page.ts'
import { closed, idParams, integerText, toInteger } from '../../../http/schema.ts'
import { callerOf } from '../../../http/visit.ts'
import type { Users } from '../users/users.ts'
import type { ApiKeys } from './api-keys.ts'
import { ApiKeyModel, toApiKey } from './model.ts'

export type AdminApiKeyRoutesOptions = {
  guard: Guard
  apiKeys: ApiKeys
  /** @throws AppError `not_found` */
  getUser: Users['get']
}

const tag = 'Users'

export function adminApiKeyRoutes({ guard, apiKeys, getUser }: AdminApiKeyRoutesOptions) {
  return new Elysia({ prefix: '/admin/users/:id/api-keys' })
    .use(guard)
    .get(
      '',
      async ({ params, query, set, visit }) => {
        const { id } = await getUser(toInteger(params.id))
        const page = await apiKeys.list(id, pageOfQuery(query))
        return sendPage({ set, visit, query }, representPage(page, toApiKey))
      },
      {
        ...operation('admin', {
          id: 'listUserApiKeys',
          summary: 'List the API keys of a user',
          scope: 'users:read',
          tag,
          paged: true,
          data: t.Array(ApiKeyModel),
          errors: ['not_found'],
        }),
        params: idParams('User id'),
        query: closed(pageQuery),
      },
    )
    .delete(
      '/:key_id',
      async ({ visit, params }) => {
        await apiKeys.revoke(callerOf(visit), toInteger(params.key_id), toInteger(params.id))
        return envelope(null, 'API key revoked')
      },
      {
        ...operation('admin', {
          id: 'revokeUserApiKey',
          summary: 'Revoke an API key of a user',
          description:
            'It stops working at the next request, and so does the old secret of a rotated key. The user is told by email.',
          scope: 'users:write',
          tag,
          data: t.Null(),
          message: 'API key revoked',
          errors: ['not_found'],
        }),
        params: closed({
          id: integerText({ description: 'User id' }),
          key_id: integerText({ description: 'API key id' }),
        }),
      },
    )
}
