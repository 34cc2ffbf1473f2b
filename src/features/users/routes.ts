/** `/admin/users`: an administrator makes, changes and disables users, and never sets their passwords. */
import { Elysia, t } from 'elysia'
import { representPage, sendPage, sendResource } from '../../http/conditional.ts'
import { envelope } from '../../http/envelope.ts'
import type { Guard } from '../../http/guard.ts'
import { operation } from '../../http/operation.ts'
import { pageOfQuery, pageQuery } from '../../http/page.ts'
import { closed, idParams, toInteger } from '../../http/schema.ts'
import { callerOf } from '../../http/visit.ts'
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

const tag = 'Administration'

export function userRoutes({ guard, users }: { guard: Guard; users: Users }) {
  return new Elysia({ prefix: '/admin/users' })
    .use(guard)
    .get(
      '',
      async ({ query, request, set, visit }) => {
        const page = await users.list(pageOfQuery(query), query)
        return sendPage({ request, set, visit, query }, representPage(page, toAccount))
      },
      {
        ...operation('admin', {
          id: 'listUsers',
          summary: 'List users, or search them',
          tag,
          paged: true,
          data: t.Array(AccountModel),
        }),
        query: closed({ ...userFilter, ...pageQuery }),
      },
    )
    .post(
      '',
      async ({ visit, body, set }) => {
        const invited = await users.invite(callerOf(visit), body)
        set.status = 201
        return envelope(toInvitedAccount(invited), 'User created')
      },
      {
        ...operation('admin', {
          id: 'createUser',
          summary: 'Create a user',
          description:
            'The user sets the password with the activation token, within 24 hours. It is mailed to the user as a link, where mail is configured.',
          tag,
          body: true,
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
      async ({ params, request, set, visit }) =>
        sendResource({ request, set, visit }, toAccount(await users.get(toInteger(params.id)))),
      {
        ...operation('admin', {
          id: 'getUser',
          summary: 'Show a user',
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
        const user = await users.change(callerOf(visit), toInteger(params.id), body)
        return envelope(toAccount(user), 'User changed')
      },
      {
        ...operation('admin', {
          id: 'changeUser',
          summary: 'Change a user',
          description: 'A new role or status ends the sessions of the user at once.',
          tag,
          body: true,
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
        await users.remove(callerOf(visit), toInteger(params.id))
        return envelope(null, 'User deleted')
      },
      {
        ...operation('admin', {
          id: 'deleteUser',
          summary: 'Delete a user',
          description: 'With all sessions, API keys, subscriptions and sites of the user, at once.',
          tag,
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
          description: 'The former token is void. It is mailed to the user as well, where mail is configured.',
          tag,
          data: ActivationModel,
          message: 'Activation renewed',
          errors: ['not_found', 'conflict'],
        }),
        params: idParams('User id'),
      },
    )
}
