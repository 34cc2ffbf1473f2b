/** `/admin/users`: an administrator makes, changes and disables users, and never sets their passwords. */
import { Elysia, t } from 'elysia'
import { representPage, sendPage, sendResource } from '../../http/conditional.ts'
import { envelope } from '../../http/envelope.ts'
import type { Guard } from '../../http/guard.ts'
import { operation } from '../../http/operation.ts'
import { pageOfQuery, pageQuery } from '../../http/page.ts'
import { closed, idParams, toInteger } from '../../http/schema.ts'
import {
  AccountModel,
  ChangeUser,
  CreateUser,
  InvitedAccountModel,
  toAccount,
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
      async ({ body, set }) => {
        const invited = await users.invite(body)
        set.status = 201
        return envelope(toInvitedAccount(invited), 'User created')
      },
      {
        ...operation('admin', {
          id: 'createUser',
          summary: 'Create a user',
          description: 'The user sets the password with the activation token, within 24 hours.',
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
      async ({ params, body }) => envelope(toAccount(await users.change(toInteger(params.id), body)), 'User changed'),
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
      async ({ params }) => {
        await users.remove(toInteger(params.id))
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
}
