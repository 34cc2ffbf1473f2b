/** `/auth/api-keys`: managed with a JWT only. */
import { Elysia, t } from 'elysia'
import { parseTimestamp } from '../../core/timestamp.ts'
import { representPage, sendPage } from '../../http/conditional.ts'
import { envelope } from '../../http/envelope.ts'
import type { Guard } from '../../http/guard.ts'
import type { AnswerOnce } from '../../http/idempotency.ts'
import { operation } from '../../http/operation.ts'
import { pageOfQuery, pageQuery } from '../../http/page.ts'
import { closed, idParams, toInteger } from '../../http/schema.ts'
import { callerOf } from '../../http/visit.ts'
import type { ApiKeys } from './api-keys.ts'
import { ApiKeyModel, CreateApiKey, CreatedApiKeyModel, toApiKey, toCreatedApiKey } from './model.ts'

const tag = 'API keys'

export type ApiKeyRoutesOptions = { guard: Guard; apiKeys: ApiKeys; answerOnce: AnswerOnce }

export function apiKeyRoutes({ guard, apiKeys, answerOnce }: ApiKeyRoutesOptions) {
  return new Elysia({ prefix: '/auth/api-keys' })
    .use(guard)
    .post(
      '',
      async ({ visit, query, body, set }) => {
        const expiresAt = body.expires_at === undefined ? undefined : parseTimestamp(body.expires_at)
        const request = { name: body.name, expiresAt, totpCode: body.totp_code }
        return answerOnce(
          { set, visit, query, body },
          (conclude) => apiKeys.create(callerOf(visit), request, conclude),
          {
            message: 'API key created',
            toData: toCreatedApiKey,
            insteadOfSecret: ({ row }) =>
              `API key ${row.id} was created by the first of these requests, and shown in its answer alone: delete it and create another`,
          },
        )
      },
      {
        ...operation('session', {
          id: 'createApiKey',
          summary: 'Create an API key',
          description:
            'The only response that holds the key. Without `expires_at` it is valid until it is deleted. A user with two-factor authentication on sends a fresh `totp_code`.',
          tag,
          body: true,
          idempotent: true,
          status: 201,
          data: CreatedApiKeyModel,
          message: 'API key created',
          errors: ['two_factor_required', 'two_factor_invalid'],
        }),
        body: CreateApiKey,
      },
    )
    .get(
      '',
      async ({ principal, query, set, visit }) => {
        const page = await apiKeys.list(principal.userId, pageOfQuery(query))
        return sendPage({ set, visit, query }, representPage(page, toApiKey))
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
      async ({ visit, params }) => {
        await apiKeys.remove(callerOf(visit), toInteger(params.id))
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
