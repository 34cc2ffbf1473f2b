/** `/subscriptions`: your own; `/admin/subscriptions`: those of all users. */
import { Elysia, t } from 'elysia'
import { preconditionOf, representPage, sendChanged, sendPage, sendResource } from '../../../http/conditional.ts'
import { envelope } from '../../../http/envelope.ts'
import type { Guard } from '../../../http/guard.ts'
import type { AnswerOnce } from '../../../http/idempotency/answer-once.ts'
import { type Call, operation } from '../../../http/operation.ts'
import { pageOfQuery, pageQuery } from '../../../http/page.ts'
import { closed, idParams, toInteger } from '../../../http/schema.ts'
import {
  ChangeOwnSubscription,
  ChangeSubscription,
  CreateSubscription,
  deletionQuery,
  SubscriptionModel,
  subscriptionFilter,
  toLimits,
  toSubscription,
  toSubscriptionChanges,
  toSubscriptionFilter,
} from './model.ts'
import type { Subscriptions } from './subscriptions.ts'

const tag = 'Subscriptions'

const operations = {
  listSubscriptions: operation('user', {
    id: 'listSubscriptions',
    summary: 'List your subscriptions',
    scope: 'subscriptions:read',
    keepsToSubscription: true,
    tag,
    query: closed(pageQuery),
    paged: true,
    data: t.Array(SubscriptionModel),
  }),
  getOwnSubscription: operation('user', {
    id: 'getOwnSubscription',
    summary: 'Show one of your subscriptions',
    scope: 'subscriptions:read',
    keepsToSubscription: true,
    tag,
    params: idParams('Subscription id'),
    conditional: true,
    data: SubscriptionModel,
    errors: ['forbidden', 'not_found'],
  }),
  changeSubscription: operation('user', {
    id: 'changeSubscription',
    summary: 'Make a subscription the default',
    description: 'The default is used wherever `subscription_id` is absent.',
    scope: 'subscriptions:write',
    tag,
    params: idParams('Subscription id'),
    body: ChangeOwnSubscription,
    takesIfMatch: true,
    data: SubscriptionModel,
    message: 'Subscription changed',
    errors: ['forbidden', 'not_found'],
  }),
  listAllSubscriptions: operation('admin', {
    id: 'listAllSubscriptions',
    summary: 'List the subscriptions of all users',
    scope: 'subscriptions:read',
    tag,
    query: closed({ ...subscriptionFilter, ...pageQuery }),
    paged: true,
    data: t.Array(SubscriptionModel),
  }),
  createSubscription: operation('admin', {
    id: 'createSubscription',
    summary: 'Create a subscription',
    description: "A user's first subscription is the default.",
    scope: 'subscriptions:write',
    tag,
    body: CreateSubscription,
    idempotent: true,
    status: 201,
    data: SubscriptionModel,
    message: 'Subscription created',
    errors: ['not_found'],
  }),
  getSubscription: operation('admin', {
    id: 'getSubscription',
    summary: 'Show a subscription',
    scope: 'subscriptions:read',
    tag,
    params: idParams('Subscription id'),
    conditional: true,
    data: SubscriptionModel,
    errors: ['not_found'],
  }),
  changeAnySubscription: operation('admin', {
    id: 'changeAnySubscription',
    summary: 'Change a subscription',
    description:
      'The sites of a suspended subscription can be read but not changed. `user_id` moves the subscription, with its sites, to another user.',
    scope: 'subscriptions:write',
    tag,
    params: idParams('Subscription id'),
    body: ChangeSubscription,
    takesIfMatch: true,
    data: SubscriptionModel,
    message: 'Subscription changed',
    errors: ['not_found'],
  }),
  deleteSubscription: operation('admin', {
    id: 'deleteSubscription',
    summary: 'Delete a subscription',
    description:
      'Also deletes the API keys that are bound to it. With sites, it is deleted only with `delete_sites=true`, which also requires the scope `sites:write`. If it was the default, the oldest other subscription of the user becomes the default. The user is notified by email.',
    scope: 'subscriptions:write',
    tag,
    params: idParams('Subscription id'),
    query: closed(deletionQuery),
    takesIfMatch: true,
    data: t.Null(),
    message: 'Subscription deleted',
    errors: ['not_found', 'conflict'],
  }),
}

type Options = { guard: Guard; subscriptions: Subscriptions }
type AdminOptions = Options & { answerOnce: AnswerOnce }

export function subscriptionRoutes({ guard, subscriptions }: Options) {
  async function listSubscriptions({ caller, query, context }: Call<typeof operations.listSubscriptions>) {
    const page = await subscriptions.listOwn(pageOfQuery(query), caller)
    return sendPage(context, query, representPage(page, toSubscription))
  }

  const getOwnSubscription = async ({ caller, params, context }: Call<typeof operations.getOwnSubscription>) =>
    sendResource(context, toSubscription(await subscriptions.findOwn(caller, toInteger(params.id))))

  async function changeSubscription({ caller, context, params, body }: Call<typeof operations.changeSubscription>) {
    const changes = toSubscriptionChanges(body)
    const precondition = preconditionOf(context, toSubscription)
    const subscription = await subscriptions.change(caller, toInteger(params.id), changes, precondition)
    return sendChanged(context, toSubscription(subscription), operations.changeSubscription.message)
  }

  return new Elysia({ prefix: '/subscriptions' })
    .use(guard)
    .get('', listSubscriptions, operations.listSubscriptions)
    .get('/:id', getOwnSubscription, operations.getOwnSubscription)
    .patch('/:id', changeSubscription, operations.changeSubscription)
}

export function adminSubscriptionRoutes({ guard, subscriptions, answerOnce }: AdminOptions) {
  async function listAllSubscriptions({ query, context }: Call<typeof operations.listAllSubscriptions>) {
    const page = await subscriptions.list(pageOfQuery(query), toSubscriptionFilter(query))
    return sendPage(context, query, representPage(page, toSubscription))
  }

  async function createSubscription({ caller, context, query, body }: Call<typeof operations.createSubscription>) {
    const newSubscription = {
      userId: body.user_id,
      name: body.name,
      isDefault: body.is_default,
      maxSites: body.max_sites ?? 0,
      ...toLimits(body),
      nodeId: body.node_id,
    }
    return answerOnce(
      operations.createSubscription,
      { caller, context, query, body },
      (conclude) => subscriptions.create(caller, newSubscription, conclude),
      { toData: toSubscription },
    )
  }

  const getSubscription = async ({ params, context }: Call<typeof operations.getSubscription>) =>
    sendResource(context, toSubscription(await subscriptions.find(toInteger(params.id))))

  async function changeAnySubscription({
    caller,
    context,
    params,
    body,
  }: Call<typeof operations.changeAnySubscription>) {
    const changes = toSubscriptionChanges(body)
    const precondition = preconditionOf(context, toSubscription)
    const subscription = await subscriptions.change(caller, toInteger(params.id), changes, precondition)
    return sendChanged(context, toSubscription(subscription), operations.changeAnySubscription.message)
  }

  async function deleteSubscription({ caller, context, params, query }: Call<typeof operations.deleteSubscription>) {
    const precondition = preconditionOf(context, toSubscription)
    const deleteSites = query.delete_sites === 'true'
    await subscriptions.remove(caller, toInteger(params.id), { deleteSites }, precondition)
    return envelope(null, operations.deleteSubscription.message)
  }

  return new Elysia({ prefix: '/admin/subscriptions' })
    .use(guard)
    .get('', listAllSubscriptions, operations.listAllSubscriptions)
    .post('', createSubscription, operations.createSubscription)
    .get('/:id', getSubscription, operations.getSubscription)
    .patch('/:id', changeAnySubscription, operations.changeAnySubscription)
    .delete('/:id', deleteSubscription, operations.deleteSubscription)
}
