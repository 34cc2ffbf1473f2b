/** `/admin/users/:id/sessions`: list and end a user's sessions. */
import { Elysia, t } from 'elysia'
import { representPage, sendPage } from '../../../http/conditional.ts'
import { envelope } from '../../../http/envelope.ts'
import type { Guard } from '../../../http/guard.ts'
import { type Call, operation } from '../../../http/operation.ts'
import { pageOfQuery, pageQuery } from '../../../http/page.ts'
import { closed, idParams, integerText, toInteger } from '../../../http/schema.ts'
import { SessionModel, toSession } from '../session/model.ts'
import type { Sessions } from '../session/sessions.ts'
import type { Users } from '../users/users.ts'

const tag = 'Users'

const operations = {
  listUserSessions: operation('admin', {
    id: 'listUserSessions',
    summary: 'List the sessions of a user',
    scope: 'users:read',
    tag,
    params: idParams('User id'),
    query: closed(pageQuery),
    paged: true,
    data: t.Array(SessionModel),
    errors: ['not_found'],
  }),
  endUserSessions: operation('admin', {
    id: 'endUserSessions',
    summary: 'End all sessions of a user',
    description: 'The API keys of the user stay valid.',
    scope: 'users:write',
    tag,
    params: idParams('User id'),
    data: t.Null(),
    message: 'Sessions ended',
    errors: ['not_found'],
  }),
  endUserSession: operation('admin', {
    id: 'endUserSession',
    summary: 'End one session of a user',
    scope: 'users:write',
    tag,
    params: closed({
      id: integerText({ description: 'User id' }),
      session_id: integerText({ description: 'Session id' }),
    }),
    data: t.Null(),
    message: 'Session ended',
    errors: ['not_found'],
  }),
}

export type AdminSessionRoutesOptions = {
  guard: Guard
  sessions: Sessions
  /** @throws AppError `not_found` */
  getUser: Users['get']
}

export function adminSessionRoutes({ guard, sessions, getUser }: AdminSessionRoutesOptions) {
  async function listUserSessions({
    caller: { credential },
    params,
    query,
    context,
  }: Call<typeof operations.listUserSessions>) {
    const user = await getUser(toInteger(params.id))
    const page = await sessions.list(user.id, pageOfQuery(query))
    const currentId = credential.kind === 'jwt' ? credential.sessionId : undefined
    return sendPage(
      context,
      query,
      representPage(page, (session) => toSession(session, currentId)),
    )
  }

  async function endUserSessions({ caller, params }: Call<typeof operations.endUserSessions>) {
    await sessions.endAll(caller, toInteger(params.id))
    return envelope(null, operations.endUserSessions.message)
  }

  async function endUserSession({ caller, params }: Call<typeof operations.endUserSession>) {
    await sessions.endOne(caller, toInteger(params.id), toInteger(params.session_id))
    return envelope(null, operations.endUserSession.message)
  }

  return new Elysia({ prefix: '/admin/users/:id/sessions' })
    .use(guard)
    .get('', listUserSessions, operations.listUserSessions)
    .delete('', endUserSessions, operations.endUserSessions)
    .delete('/:session_id', endUserSession, operations.endUserSession)
}
