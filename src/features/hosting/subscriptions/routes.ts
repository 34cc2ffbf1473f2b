/** `/subscriptions`, a customer's own, and `/admin/subscriptions`, everybody's. */
import { Elysia, t } from 'elysia'
import { preconditionOf, representPage, sendChanged, sendPage, sendResource } from '../../../http/conditional.ts'
import { envelope } from '../../../http/envelope.ts'
import type { Guard } from '../../../http/guard.ts'
import type { AnswerOnce } from '../../../http/idempotency/answer-once.ts'
import { operation } from '../../../http/operation.ts'
import { pageOfQuery, pageQuery } from '../../../http/page.ts'
import { closed, idParams, toInteger } from '../../../http/schema.ts'
import { callerOf } from '../../../http/visit.ts'
import {
  ChangeOwnSubscription,
  ChangeSubscription,
  CreateSubscription,
  deletionQuery,
  SubscriptionModel,
  subscriptionFilter,
  toSubscription,
  toSubscriptionChanges,
  toSubscriptionFilter,
} from './model.ts'
import type { Subscriptions } from './subscriptions.ts'

type Options = { guard: Guard; subscriptions: Subscriptions }
type AdminOptions = Options & { answerOnce: AnswerOnce }

const changed = 'Subscription changed'

export function subscriptionRoutes({ guard, subscriptions }: Options) {
  const tag = 'Subscriptions'
  return new Elysia({ prefix: '/subscriptions' })
    .use(guard)
    .get(
      '',
      async ({ principal, query, set, visit }) => {
        const page = await subscriptions.listOwn(pageOfQuery(query), principal)
        return sendPage({ set, visit, query }, representPage(page, toSubscription))
      },
      {
        ...operation('user', {
          id: 'listSubscriptions',
          summary: 'List own subscriptions',
          scope: 'subscriptions:read',
          confined: true,
          tag,
          paged: true,
          data: t.Array(SubscriptionModel),
        }),
        query: closed(pageQuery),
      },
    )
    .get(
      '/:id',
      async ({ principal, params, set, visit }) =>
        sendResource({ set, visit }, toSubscription(await subscriptions.findOwn(principal, toInteger(params.id)))),
      {
        ...operation('user', {
          id: 'getOwnSubscription',
          summary: 'Show an own subscription',
          scope: 'subscriptions:read',
          confined: true,
          tag,
          conditional: true,
          data: SubscriptionModel,
          errors: ['forbidden', 'not_found'],
        }),
        params: idParams('Subscription id'),
      },
    )
    .patch(
      '/:id',
      async ({ visit, params, body }) => {
        const changes = toSubscriptionChanges(body)
        const precondition = preconditionOf(visit, toSubscription)
        const subscription = await subscriptions.change(callerOf(visit), toInteger(params.id), changes, precondition)
        return sendChanged(visit, toSubscription(subscription), changed)
      },
      {
        ...operation('user', {
          id: 'changeSubscription',
          summary: 'Make a subscription the default',
          description: 'The default is used wherever `subscription_id` is absent.',
          scope: 'subscriptions:write',
          tag,
          body: true,
          guarded: true,
          data: SubscriptionModel,
          message: changed,
          errors: ['forbidden', 'not_found'],
        }),
        params: idParams('Subscription id'),
        body: ChangeOwnSubscription,
      },
    )
}

export function adminSubscriptionRoutes({ guard, subscriptions, answerOnce }: AdminOptions) {
  const tag = 'Subscriptions'
  return new Elysia({ prefix: '/admin/subscriptions' })
    .use(guard)
    .get(
      '',
      async ({ query, set, visit }) => {
        const page = await subscriptions.list(pageOfQuery(query), toSubscriptionFilter(query))
        return sendPage({ set, visit, query }, representPage(page, toSubscription))
      },
      {
        ...operation('admin', {
          id: 'listAllSubscriptions',
          summary: 'List the subscriptions of all users, or some of them',
          scope: 'subscriptions:read',
          tag,
          paged: true,
          data: t.Array(SubscriptionModel),
        }),
        query: closed({ ...subscriptionFilter, ...pageQuery }),
      },
    )
    .post(
      '',
      async ({ visit, query, body, set }) => {
        const newSubscription = {
          userId: body.user_id,
          name: body.name,
          isDefault: body.is_default,
          maxSites: body.max_sites ?? 0,
        }
        return answerOnce(
          { set, visit, query, body },
          (conclude) => subscriptions.create(callerOf(visit), newSubscription, conclude),
          { message: 'Subscription created', toData: toSubscription },
        )
      },
      {
        ...operation('admin', {
          id: 'createSubscription',
          summary: 'Create a subscription',
          description: "A user's first is the default.",
          scope: 'subscriptions:write',
          tag,
          body: true,
          idempotent: true,
          status: 201,
          data: SubscriptionModel,
          message: 'Subscription created',
          errors: ['not_found'],
        }),
        body: CreateSubscription,
      },
    )
    .get(
      '/:id',
      async ({ params, set, visit }) =>
        sendResource({ set, visit }, toSubscription(await subscriptions.find(toInteger(params.id)))),
      {
        ...operation('admin', {
          id: 'getSubscription',
          summary: 'Show a subscription',
          scope: 'subscriptions:read',
          tag,
          conditional: true,
          data: SubscriptionModel,
          errors: ['not_found'],
        }),
        params: idParams('Subscription id'),
      },
    )
    .patch(
      '/:id',
      async ({ visit, params, body }) => {
        const changes = toSubscriptionChanges(body)
        const precondition = preconditionOf(visit, toSubscription)
        const subscription = await subscriptions.change(callerOf(visit), toInteger(params.id), changes, precondition)
        return sendChanged(visit, toSubscription(subscription), changed)
      },
      {
        ...operation('admin', {
          id: 'changeAnySubscription',
          summary: 'Change a subscription',
          description:
            'In a suspended one, sites can be read and not changed. A `user_id` gives it to another user, with its sites.',
          scope: 'subscriptions:write',
          tag,
          body: true,
          guarded: true,
          data: SubscriptionModel,
          message: changed,
          errors: ['not_found'],
        }),
        params: idParams('Subscription id'),
        body: ChangeSubscription,
      },
    )
    .delete(
      '/:id',
      async ({ visit, params, query }) => {
        const precondition = preconditionOf(visit, toSubscription)
        const deleteSites = query.delete_sites === 'true'
        await subscriptions.remove(callerOf(visit), toInteger(params.id), { deleteSites }, precondition)
        return envelope(null, 'Subscription deleted')
      },
      {
        ...operation('admin', {
          id: 'deleteSubscription',
          summary: 'Delete a subscription',
          description:
            'Also deletes the API keys that are bound to it. With sites, it is deleted only with `delete_sites=true`, which also requires the scope `sites:write`. If it was the default, the oldest other subscription of the user becomes the default. The user is told by email.',
          scope: 'subscriptions:write',
          tag,
          guarded: true,
          data: t.Null(),
          message: 'Subscription deleted',
          errors: ['not_found', 'conflict'],
        }),
        params: idParams('Subscription id'),
        query: closed(deletionQuery),
      },
    )
}
