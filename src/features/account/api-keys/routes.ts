/** `/auth/api-keys`: managed with a JWT only. */
import { Elysia, t } from 'elysia'
import { preconditionOf, representPage, sendChanged, sendPage, sendResource } from '../../../http/conditional.ts'
import { envelope } from '../../../http/envelope.ts'
import type { Guard } from '../../../http/guard.ts'
import type { AnswerOnce } from '../../../http/idempotency/answer-once.ts'
import { operation } from '../../../http/operation.ts'
import { pageOfQuery, pageQuery } from '../../../http/page.ts'
import { closed, idParams, toInteger } from '../../../http/schema.ts'
import { callerOf } from '../../../http/visit.ts'
import type { ApiKeys } from './api-keys.ts'
import {
  ApiKeyModel,
  ChangeApiKey,
  CreateApiKey,
  CreatedApiKeyModel,
  RotateApiKey,
  toApiKey,
  toApiKeyChanges,
  toCreatedApiKey,
  toNewApiKey,
  toRotation,
} from './model.ts'
import type { RotateSelf } from './self-rotation.ts'

const tag = 'API keys'

export type ApiKeyRoutesOptions = { guard: Guard; apiKeys: ApiKeys; rotateSelf: RotateSelf; answerOnce: AnswerOnce }

export function apiKeyRoutes({ guard, apiKeys, rotateSelf, answerOnce }: ApiKeyRoutesOptions) {
  return new Elysia({ prefix: '/auth/api-keys' })
    .use(guard)
    .post(
      '',
      async ({ visit, query, body, set }) =>
        answerOnce(
          { set, visit, query, body },
          (conclude) => apiKeys.create(callerOf(visit), toNewApiKey(body), conclude),
          {
            message: 'API key created',
            toData: toCreatedApiKey,
            insteadOfSecret: ({ row }) =>
              `API key ${row.id} was created by the first of these requests, and shown in its answer alone: rotate it, or delete it`,
          },
        ),
      {
        ...operation('session', {
          id: 'createApiKey',
          summary: 'Create an API key',
          description:
            'The only response that contains the key. Without `expires_at` it is valid until it is deleted. A JWT is enough, unless the user has two-factor authentication on and the setting `require_code_for_api_keys` is on: then a fresh `totp_code` is required.',
          tag,
          body: true,
          idempotent: true,
          status: 201,
          data: CreatedApiKeyModel,
          message: 'API key created',
          errors: ['two_factor_required', 'two_factor_invalid', 'not_found'],
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
          summary: 'List your API keys',
          description: 'Without the secrets, which cannot be shown again. `last_used_at` is accurate to the second.',
          tag,
          paged: true,
          data: t.Array(ApiKeyModel),
        }),
        query: closed(pageQuery),
      },
    )
    .get(
      '/:id',
      async ({ principal, params, set, visit }) =>
        sendResource({ set, visit }, toApiKey(await apiKeys.get(principal, toInteger(params.id)))),
      {
        ...operation('session', {
          id: 'getApiKey',
          summary: 'Show an API key',
          description: 'One of your own keys, without its secret.',
          tag,
          conditional: true,
          data: ApiKeyModel,
          errors: ['not_found'],
        }),
        params: idParams('API key id'),
      },
    )
    .patch(
      '/:id',
      async ({ visit, params, body }) => {
        const precondition = preconditionOf(visit, toApiKey)
        const changes = toApiKeyChanges(body)
        const changed = await apiKeys.change(callerOf(visit), toInteger(params.id), changes, precondition)
        return sendChanged(visit, toApiKey(changed), 'API key changed')
      },
      {
        ...operation('session', {
          id: 'changeApiKey',
          summary: 'Rename an API key, or change its expiry',
          description:
            'Not for a key that has expired. What the key may do cannot be changed: create another key for that. A key whose expiry was changed may no longer rotate itself.',
          tag,
          body: true,
          guarded: true,
          data: ApiKeyModel,
          message: 'API key changed',
          errors: ['not_found', 'conflict', 'two_factor_required', 'two_factor_invalid'],
        }),
        params: idParams('API key id'),
        body: ChangeApiKey,
      },
    )
    .post(
      '/:id/rotate',
      async ({ visit, params, query, body, set }) =>
        answerOnce(
          { set, visit, query, body },
          (conclude) => apiKeys.rotate(callerOf(visit), toInteger(params.id), toRotation(body), conclude),
          {
            message: 'API key rotated',
            status: 200,
            toData: toCreatedApiKey,
            insteadOfSecret: () =>
              'The API key was rotated by the first of these requests, and shown in its answer alone: rotate it again',
          },
        ),
      {
        ...operation('session', {
          id: 'rotateApiKey',
          summary: 'Give an API key another secret',
          description:
            'The key keeps everything except its secret. The old secret works for `grace_seconds` more, or until the key expires; any older secret stops at once. Requires a `totp_code` where creating a key does.',
          tag,
          body: 'optional',
          idempotent: true,
          data: CreatedApiKeyModel,
          message: 'API key rotated',
          errors: ['not_found', 'two_factor_required', 'two_factor_invalid'],
        }),
        params: idParams('API key id'),
        body: RotateApiKey,
      },
    )
    .post(
      '/self/rotate',
      async ({ visit, query, set }) =>
        answerOnce({ set, visit, query, body: undefined }, (conclude) => rotateSelf(callerOf(visit), conclude), {
          message: 'API key rotated',
          status: 200,
          toData: toCreatedApiKey,
          insteadOfSecret: () =>
            'The first of these requests rotated the API key, and only its answer showed the new secret: log in and rotate the key before this secret expires',
        }),
      {
        ...operation('key', {
          id: 'rotateOwnApiKey',
          summary: 'Rotate the API key that makes the request',
          description:
            'Gives the key a new secret and a new expiry. For a key that was created with `can_rotate`, while the setting `api_key_self_rotation` is on. It gets its original lifetime again, counted from now, but never beyond its `renewable_until`. The old secret works for a day, or until its own expiry; until then neither secret can rotate the key again, unless the key would expire first. The user is told by email.',
          scope: null,
          confined: true,
          tag,
          idempotent: true,
          data: CreatedApiKeyModel,
          message: 'API key rotated',
        }),
      },
    )
    .delete(
      '/:id',
      async ({ visit, params }) => {
        await apiKeys.remove(callerOf(visit), toInteger(params.id), preconditionOf(visit, toApiKey))
        return envelope(null, 'API key deleted')
      },
      {
        ...operation('session', {
          id: 'deleteApiKey',
          summary: 'Delete an API key',
          description: 'Both its secrets, where it was rotated, stop working at the next request.',
          tag,
          guarded: true,
          data: t.Null(),
          message: 'API key deleted',
          errors: ['forbidden', 'not_found'],
        }),
        params: idParams('API key id'),
      },
    )
}
