/** `/admin/users`: administrators create, change and disable users, and never set their passwords. */
import { Elysia, t } from 'elysia'
import { preconditionOf, representPage, sendChanged, sendPage, sendResource } from '../../../http/conditional.ts'
import { envelope } from '../../../http/envelope.ts'
import type { Guard } from '../../../http/guard.ts'
import type { AnswerOnce } from '../../../http/idempotency/answer-once.ts'
import { type Call, operation } from '../../../http/operation.ts'
import { pageOfQuery, pageQuery } from '../../../http/page.ts'
import { closed, idParams, toInteger } from '../../../http/schema.ts'
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

const operations = {
  listUsers: operation('admin', {
    id: 'listUsers',
    summary: 'List users, or search them',
    scope: 'users:read',
    tag,
    query: closed({ ...userFilter, ...pageQuery }),
    paged: true,
    data: t.Array(AccountModel),
  }),
  createUser: operation('admin', {
    id: 'createUser',
    summary: 'Create a user',
    description:
      'The user sets the password with the activation token, within 24 hours. Where a mail server is configured, the user also gets it by email, as a link.',
    scope: 'users:write',
    tag,
    body: CreateUser,
    idempotent: true,
    status: 201,
    data: InvitedAccountModel,
    message: 'User created',
    errors: ['conflict'],
  }),
  getUser: operation('admin', {
    id: 'getUser',
    summary: 'Show a user',
    scope: 'users:read',
    tag,
    params: idParams('User id'),
    conditional: true,
    data: AccountModel,
    errors: ['not_found'],
  }),
  changeUser: operation('admin', {
    id: 'changeUser',
    summary: 'Change a user',
    description: 'A new role or status ends the sessions of the user at once.',
    scope: 'users:write',
    tag,
    params: idParams('User id'),
    body: ChangeUser,
    takesIfMatch: true,
    data: AccountModel,
    message: 'User changed',
    errors: ['not_found', 'conflict'],
  }),
  deleteUser: operation('admin', {
    id: 'deleteUser',
    summary: 'Delete a user',
    description: 'Also deletes all sessions, API keys, subscriptions and sites of the user, at once.',
    scope: 'users:write',
    tag,
    params: idParams('User id'),
    takesIfMatch: true,
    data: t.Null(),
    message: 'User deleted',
    errors: ['not_found', 'conflict'],
  }),
  renewActivation: operation('admin', {
    id: 'renewActivation',
    summary: 'Give a user without a password a new activation token',
    description:
      'The previous token is void. Where a mail server is configured, the user also gets the new one by email.',
    scope: 'users:write',
    tag,
    params: idParams('User id'),
    data: ActivationModel,
    message: 'Activation renewed',
    errors: ['not_found', 'conflict'],
  }),
}

export type UserRoutesOptions = { guard: Guard; users: Users; answerOnce: AnswerOnce }

export function userRoutes({ guard, users, answerOnce }: UserRoutesOptions) {
  async function listUsers({ query, context }: Call<typeof operations.listUsers>) {
    const page = await users.list(pageOfQuery(query), query)
    return sendPage(context, query, representPage(page, toAccount))
  }

  const createUser = async ({ caller, context, query, body }: Call<typeof operations.createUser>) =>
    answerOnce(
      operations.createUser,
      { caller, context, query, body },
      (conclude) => users.invite(caller, body, conclude),
      {
        toData: toInvitedAccount,
        insteadOfSecret: ({ user: { id } }) =>
          `The first of these requests created user ${id}, and only its response showed the activation token: renew it with POST /admin/users/${id}/activation`,
      },
    )

  const getUser = async ({ params, context }: Call<typeof operations.getUser>) =>
    sendResource(context, toAccount(await users.get(toInteger(params.id))))

  async function changeUser({ caller, context, params, body }: Call<typeof operations.changeUser>) {
    const precondition = preconditionOf(context, toAccount)
    const user = await users.change(caller, toInteger(params.id), body, precondition)
    return sendChanged(context, toAccount(user), operations.changeUser.message)
  }

  async function deleteUser({ caller, context, params }: Call<typeof operations.deleteUser>) {
    await users.remove(caller, toInteger(params.id), preconditionOf(context, toAccount))
    return envelope(null, operations.deleteUser.message)
  }

  async function renewActivation({ caller, params }: Call<typeof operations.renewActivation>) {
    const activation = await users.renewActivation(caller, toInteger(params.id))
    return envelope(toActivation(activation), operations.renewActivation.message)
  }

  return new Elysia({ prefix: '/admin/users' })
    .use(guard)
    .get('', listUsers, operations.listUsers)
    .post('', createUser, operations.createUser)
    .get('/:id', getUser, operations.getUser)
    .patch('/:id', changeUser, operations.changeUser)
    .delete('/:id', deleteUser, operations.deleteUser)
    .post('/:id/activation', renewActivation, operations.renewActivation)
}
