/** `/admin/users/:id/api-keys`: list and revoke a user's API keys. */
import { Elysia, t } from 'elysia'
import { representPage, sendPage } from '../../../http/conditional.ts'
import { envelope } from '../../../http/envelope.ts'
import type { Guard } from '../../../http/guard.ts'
import { type Call, operation } from '../../../http/operation.ts'
import { pageOfQuery, pageQuery } from '../../../http/page.ts'
import { closed, idParams, integerText, toInteger } from '../../../http/schema.ts'
import type { ApiKeys } from '../api-keys/api-keys.ts'
import { ApiKeyModel, toApiKey } from '../api-keys/model.ts'
import type { Users } from '../users/users.ts'

const tag = 'Users'

const operations = {
  listUserApiKeys: operation('admin', {
    id: 'listUserApiKeys',
    summary: 'List the API keys of a user',
    scope: 'users:read',
    tag,
    params: idParams('User id'),
    query: closed(pageQuery),
    paged: true,
    data: t.Array(ApiKeyModel),
    errors: ['not_found'],
  }),
  revokeUserApiKey: operation('admin', {
    id: 'revokeUserApiKey',
    summary: 'Revoke an API key of a user',
    description:
      'It stops working at the next request, and so does the old secret of a rotated key. The user is notified by email.',
    scope: 'users:write',
    tag,
    params: closed({
      id: integerText({ description: 'User id' }),
      key_id: integerText({ description: 'API key id' }),
    }),
    data: t.Null(),
    message: 'API key revoked',
    errors: ['not_found'],
  }),
}

export type AdminApiKeyRoutesOptions = {
  guard: Guard
  apiKeys: ApiKeys
  /** @throws AppError `not_found` */
  getUser: Users['get']
}

export function adminApiKeyRoutes({ guard, apiKeys, getUser }: AdminApiKeyRoutesOptions) {
  async function listUserApiKeys({ params, query, context }: Call<typeof operations.listUserApiKeys>) {
    const { id } = await getUser(toInteger(params.id))
    const page = await apiKeys.list(id, pageOfQuery(query))
    return sendPage(context, query, representPage(page, toApiKey))
  }

  async function revokeUserApiKey({ caller, params }: Call<typeof operations.revokeUserApiKey>) {
    await apiKeys.revoke(caller, toInteger(params.key_id), toInteger(params.id))
    return envelope(null, operations.revokeUserApiKey.message)
  }

  return new Elysia({ prefix: '/admin/users/:id/api-keys' })
    .use(guard)
    .get('', listUserApiKeys, operations.listUserApiKeys)
    .delete('/:key_id', revokeUserApiKey, operations.revokeUserApiKey)
}
