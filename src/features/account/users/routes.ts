/** `/admin/users`: an administrator makes, changes and disables users, and never sets their passwords. */
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
  AccountModel,
  ActivationModel,
  ChangeUser,
  CreateUser,
  InvitedAccountModel,
  toAccount,
  toActivation,
  toInvitedAccount,
  userFilter,
} from './model.ts'
import type { Users } from './users.ts'

const tag = 'Users'

export type UserRoutesOptions = { guard: Guard; users: Users; answerOnce: AnswerOnce }

export function userRoutes({ guard, users, answerOnce }: UserRoutesOptions) {
  return new Elysia({ prefix: '/admin/users' })
    .use(guard)
    .get(
      '',
      async ({ query, set, visit }) => {
        const page = await users.list(pageOfQuery(query), query)
        return sendPage({ set, visit, query }, representPage(page, toAccount))
      },
      {
        ...operation('admin', {
          id: 'listUsers',
          summary: 'List users, or search them',
          scope: 'users:read',
          tag,
          paged: true,
          data: t.Array(AccountModel),
        }),
        query: closed({ ...userFilter, ...pageQuery }),
      },
    )
    .post(
      '',
      async ({ visit, query, body, set }) =>
        answerOnce({ set, visit, query, body }, (conclude) => users.invite(callerOf(visit), body, conclude), {
          message: 'User created',
          toData: toInvitedAccount,
          insteadOfSecret: ({ user: { id } }) =>
            `User ${id} was created by the first of these requests, and the activation token shown in its answer alone: renew it with POST /admin/users/${id}/activation`,
        }),
      {
        ...operation('admin', {
          id: 'createUser',
          summary: 'Create a user',
          description:
            'The user sets the password with the activation token, within 24 hours. Where a mail server is configured, the user also gets it by email, as a link.',
          scope: 'users:write',
          tag,
          body: true,
          idempotent: true,
          status: 201,
          data: InvitedAccountModel,
          message: 'User created',
          errors: ['conflict'],
        }),
        body: CreateUser,
      },
    )
    .get(
      '/:id',
      async ({ params, set, visit }) => sendResource({ set, visit }, toAccount(await users.get(toInteger(params.id)))),
      {
        ...operation('admin', {
          id: 'getUser',
          summary: 'Show a user',
          scope: 'users:read',
          tag,
          conditional: true,
          data: AccountModel,
          errors: ['not_found'],
        }),
        params: idParams('User id'),
      },
    )
    .patch(
      '/:id',
      async ({ visit, params, body }) => {
        const precondition = preconditionOf(visit, toAccount)
        const user = await users.change(callerOf(visit), toInteger(params.id), body, precondition)
        return sendChanged(visit, toAccount(user), 'User changed')
      },
      {
        ...operation('admin', {
          id: 'changeUser',
          summary: 'Change a user',
          description: 'A new role or status ends the sessions of the user at once.',
          scope: 'users:write',
          tag,
          body: true,
          guarded: true,
          data: AccountModel,
          message: 'User changed',
          errors: ['not_found', 'conflict'],
        }),
        params: idParams('User id'),
        body: ChangeUser,
      },
    )
    .delete(
      '/:id',
      async ({ visit, params }) => {
        await users.remove(callerOf(visit), toInteger(params.id), preconditionOf(visit, toAccount))
        return envelope(null, 'User deleted')
      },
      {
        ...operation('admin', {
          id: 'deleteUser',
          summary: 'Delete a user',
          description: 'With all sessions, API keys, subscriptions and sites of the user, at once.',
          scope: 'users:write',
          tag,
          guarded: true,
          data: t.Null(),
          message: 'User deleted',
          errors: ['not_found', 'conflict'],
        }),
        params: idParams('User id'),
      },
    )
    .post(
      '/:id/activation',
      async ({ visit, params }) => {
        const activation = await users.renewActivation(callerOf(visit), toInteger(params.id))
        return envelope(toActivation(activation), 'Activation renewed')
      },
      {
        ...operation('admin', {
          id: 'renewActivation',
          summary: 'Give a user without a password a new activation token',
          description:
            'The previous token is void. Where a mail server is configured, the user also gets the new one by email.',
          scope: 'users:write',
          tag,
          data: ActivationModel,
          message: 'Activation renewed',
          errors: ['not_found', 'conflict'],
        }),
        params: idParams('User id'),
      },
    )
}
