/** `/auth/api-keys`: managed with a JWT only. */
import { Elysia, t } from 'elysia'
import { preconditionOf, representPage, sendChanged, sendPage, sendResource } from '../../../http/conditional.ts'
import { envelope } from '../../../http/envelope.ts'
import type { Guard } from '../../../http/guard.ts'
import type { AnswerOnce } from '../../../http/idempotency/answer-once.ts'
import { type Call, operation } from '../../../http/operation.ts'
import { pageOfQuery, pageQuery } from '../../../http/page.ts'
import { closed, idParams, toInteger } from '../../../http/schema.ts'
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

const operations = {
  createApiKey: operation('session', {
    id: 'createApiKey',
    summary: 'Create an API key',
    description:
      'The only response that contains the key. Without `expires_at` it is valid until it is deleted. A JWT is enough, unless the user has two-factor authentication on and the setting `require_code_for_api_keys` is on: then a fresh `totp_code` is required.',
    tag,
    body: CreateApiKey,
    idempotent: true,
    status: 201,
    data: CreatedApiKeyModel,
    message: 'API key created',
    errors: ['two_factor_required', 'two_factor_invalid', 'not_found'],
  }),
  listApiKeys: operation('session', {
    id: 'listApiKeys',
    summary: 'List your API keys',
    description: 'Without the secrets, which cannot be shown again. `last_used_at` is accurate to the second.',
    tag,
    query: closed(pageQuery),
    paged: true,
    data: t.Array(ApiKeyModel),
  }),
  getApiKey: operation('session', {
    id: 'getApiKey',
    summary: 'Show an API key',
    description: 'One of your own keys, without its secret.',
    tag,
    params: idParams('API key id'),
    conditional: true,
    data: ApiKeyModel,
    errors: ['not_found'],
  }),
  changeApiKey: operation('session', {
    id: 'changeApiKey',
    summary: 'Rename an API key, or change its expiry',
    description:
      'Not for a key that has expired. What the key may do cannot be changed: create another key for that. A key whose expiry was changed may no longer rotate itself.',
    tag,
    params: idParams('API key id'),
    body: ChangeApiKey,
    takesIfMatch: true,
    data: ApiKeyModel,
    message: 'API key changed',
    errors: ['not_found', 'conflict', 'two_factor_required', 'two_factor_invalid'],
  }),
  rotateApiKey: operation('session', {
    id: 'rotateApiKey',
    summary: 'Give an API key another secret',
    description:
      'The key keeps everything except its secret. The old secret works for `grace_seconds` more, or until the key expires; any older secret stops at once. Requires a `totp_code` where creating a key does.',
    tag,
    params: idParams('API key id'),
    body: RotateApiKey,
    optionalBody: true,
    idempotent: true,
    data: CreatedApiKeyModel,
    message: 'API key rotated',
    errors: ['not_found', 'two_factor_required', 'two_factor_invalid'],
  }),
  rotateOwnApiKey: operation('key', {
    id: 'rotateOwnApiKey',
    summary: 'Rotate the API key that makes the request',
    description:
      'Gives the key a new secret and a new expiry. For a key that was created with `can_rotate`, while the setting `api_key_self_rotation` is on. It gets its original lifetime again, counted from now, but never beyond its `renewable_until`. The old secret works for a day, or until its own expiry; until then neither secret can rotate the key again, unless the key would expire first. The user is notified by email.',
    scope: null,
    keepsToSubscription: true,
    keepsToSites: true,
    tag,
    idempotent: true,
    data: CreatedApiKeyModel,
    message: 'API key rotated',
  }),
  deleteApiKey: operation('session', {
    id: 'deleteApiKey',
    summary: 'Delete an API key',
    description: 'It stops working at the next request, and so does the old secret of a rotated key.',
    tag,
    params: idParams('API key id'),
    takesIfMatch: true,
    data: t.Null(),
    message: 'API key deleted',
    errors: ['forbidden', 'not_found'],
  }),
}

export type ApiKeyRoutesOptions = { guard: Guard; apiKeys: ApiKeys; rotateSelf: RotateSelf; answerOnce: AnswerOnce }

export function apiKeyRoutes({ guard, apiKeys, rotateSelf, answerOnce }: ApiKeyRoutesOptions) {
  const createApiKey = async ({ caller, context, query, body }: Call<typeof operations.createApiKey>) =>
    answerOnce(
      operations.createApiKey,
      { caller, context, query, body },
      (conclude) => apiKeys.create(caller, toNewApiKey(body), conclude),
      {
        toData: toCreatedApiKey,
        insteadOfSecret: ({ row }) =>
          `The first of these requests created API key ${row.id}, and only its response showed the secret: rotate the key, or delete it`,
      },
    )

  async function listApiKeys({ caller, query, context }: Call<typeof operations.listApiKeys>) {
    const page = await apiKeys.list(caller.userId, pageOfQuery(query))
    return sendPage(context, query, representPage(page, toApiKey))
  }

  const getApiKey = async ({ caller, params, context }: Call<typeof operations.getApiKey>) =>
    sendResource(context, toApiKey(await apiKeys.get(caller, toInteger(params.id))))

  async function changeApiKey({ caller, context, params, body }: Call<typeof operations.changeApiKey>) {
    const precondition = preconditionOf(context, toApiKey)
    const changes = toApiKeyChanges(body)
    const changed = await apiKeys.change(caller, toInteger(params.id), changes, precondition)
    return sendChanged(context, toApiKey(changed), operations.changeApiKey.message)
  }

  const rotateApiKey = async ({ caller, context, params, query, body }: Call<typeof operations.rotateApiKey>) =>
    answerOnce(
      operations.rotateApiKey,
      { caller, context, query, body },
      (conclude) => apiKeys.rotate(caller, toInteger(params.id), toRotation(body), conclude),
      {
        toData: toCreatedApiKey,
        insteadOfSecret: () =>
          'The first of these requests rotated the API key, and only its response showed the new secret: rotate it again',
      },
    )

  const rotateOwnApiKey = async ({ caller, context, query }: Call<typeof operations.rotateOwnApiKey>) =>
    answerOnce(operations.rotateOwnApiKey, { caller, context, query }, (conclude) => rotateSelf(caller, conclude), {
      toData: toCreatedApiKey,
      insteadOfSecret: () =>
        'The first of these requests rotated the API key, and only its response showed the new secret: log in and rotate the key before this secret expires',
    })

  async function deleteApiKey({ caller, context, params }: Call<typeof operations.deleteApiKey>) {
    await apiKeys.remove(caller, toInteger(params.id), preconditionOf(context, toApiKey))
    return envelope(null, operations.deleteApiKey.message)
  }

  return new Elysia({ prefix: '/auth/api-keys' })
    .use(guard)
    .post('', createApiKey, operations.createApiKey)
    .get('', listApiKeys, operations.listApiKeys)
    .get('/:id', getApiKey, operations.getApiKey)
    .patch('/:id', changeApiKey, operations.changeApiKey)
    .post('/:id/rotate', rotateApiKey, operations.rotateApiKey)
    .post('/self/rotate', rotateOwnApiKey, operations.rotateOwnApiKey)
    .delete('/:id', deleteApiKey, operations.deleteApiKey)
}
