/** `/auth/api-keys`: managed with a JWT only. */
import { Elysia, t } from 'elysia'
import { parseTimestamp } from '../../core/timestamp.ts'
import { representPage, sendPage } from '../../http/conditional.ts'
import { envelope } from '../../http/envelope.ts'
import type { Guard } from '../../http/guard.ts'
import { operation } from '../../http/operation.ts'
import { pageOfQuery, pageQuery } from '../../http/page.ts'
import { closed, idParams, toInteger } from '../../http/schema.ts'
import type { ApiKeys } from './api-keys.ts'
import { ApiKeyModel, CreateApiKey, CreatedApiKeyModel, toApiKey, toCreatedApiKey } from './model.ts'

const tag = 'API keys'

export function apiKeyRoutes({ guard, apiKeys }: { guard: Guard; apiKeys: ApiKeys }) {
  return new Elysia({ prefix: '/auth/api-keys' })
    .use(guard)
    .post(
      '',
      async ({ principal, body, set }) => {
        const expiresAt = body.expires_at === undefined ? undefined : parseTimestamp(body.expires_at)
        const created = await apiKeys.create(principal.userId, body.name, expiresAt)
        set.status = 201
        return envelope(toCreatedApiKey(created), 'API key created')
      },
      {
        ...operation('session', {
          id: 'createApiKey',
          summary: 'Create an API key',
          description: 'The only response that holds the key. Without `expires_at` it is valid until it is deleted.',
          tag,
          body: true,
          status: 201,
          data: CreatedApiKeyModel,
          message: 'API key created',
        }),
        body: CreateApiKey,
      },
    )
    .get(
      '',
      async ({ principal, query, request, set, visit }) => {
        const page = await apiKeys.list(principal.userId, pageOfQuery(query))
        return sendPage({ request, set, visit, query }, representPage(page, toApiKey))
      },
      {
        ...operation('session', {
          id: 'listApiKeys',
          summary: 'List own API keys',
          tag,
          paged: true,
          data: t.Array(ApiKeyModel),
        }),
        query: closed(pageQuery),
      },
    )
    .delete(
      '/:id',
      async ({ principal, params }) => {
        await apiKeys.remove(principal.userId, toInteger(params.id))
        return envelope(null, 'API key deleted')
      },
      {
        ...operation('session', {
          id: 'deleteApiKey',
          summary: 'Delete an API key',
          description: 'It stops working at the next request.',
          tag,
          data: t.Null(),
          message: 'API key deleted',
          errors: ['forbidden', 'not_found'],
        }),
        params: idParams('API key id'),
      },
    )
}
