/** `/admin/users/:id/sessions`: where a user is logged in, and the end of it. */
import { Elysia, t } from 'elysia'
import { representPage, sendPage } from '../../../http/conditional.ts'
import { envelope } from '../../../http/envelope.ts'
import type { Guard } from '../../../http/guard.ts'
import { operation } from '../../../http/operation.ts'
import { pageOfQuery, pageQuery } from '../../../http/page.ts'
import { closed, idParams, integerText, toInteger } from '../../../http/schema.ts'
import { callerOf } from '../../../http/visit.ts'
import { SessionModel, toSession } from '../model.ts'
import type { Users } from '../users/users.ts'
import type { Sessions } from './sessions.ts'

export type AdminSessionRoutesOptions = {
  guard: Guard
  sessions: Sessions
  /** @throws AppError `not_found` */
  getUser: Users['get']
}

const tag = 'Users'

export function adminSessionRoutes({ guard, sessions, getUser }: AdminSessionRoutesOptions) {
  return new Elysia({ prefix: '/admin/users/:id/sessions' })
    .use(guard)
    .get(
      '',
      async ({ principal: { credential }, params, query, set, visit }) => {
        const user = await getUser(toInteger(params.id))
        const page = await sessions.list(user.id, pageOfQuery(query))
        const currentId = credential.kind === 'jwt' ? credential.sessionId : undefined
        return sendPage(
          { set, visit, query },
          representPage(page, (session) => toSession(session, currentId)),
        )
      },
      {
        ...operation('admin', {
          id: 'listUserSessions',
          summary: 'List the sessions of a user',
          scope: 'users:read',
          tag,
          paged: true,
          data: t.Array(SessionModel),
          errors: ['not_found'],
        }),
        params: idParams('User id'),
        query: closed(pageQuery),
      },
    )
    .delete(
      '',
      async ({ visit, params }) => {
        await sessions.endAll(callerOf(visit), toInteger(params.id))
        return envelope(null, 'Sessions ended')
      },
      {
        ...operation('admin', {
          id: 'endUserSessions',
          summary: 'End all sessions of a user',
          description: 'At once. The API keys of the user stay.',
          scope: 'users:write',
          tag,
          data: t.Null(),
          message: 'Sessions ended',
          errors: ['not_found'],
        }),
        params: idParams('User id'),
      },
    )
    .delete(
      '/:session_id',
      async ({ visit, params }) => {
        await sessions.endOne(callerOf(visit), toInteger(params.id), toInteger(params.session_id))
        return envelope(null, 'Session ended')
      },
      {
        ...operation('admin', {
          id: 'endUserSession',
          summary: 'End one session of a user',
          scope: 'users:write',
          tag,
          data: t.Null(),
          message: 'Session ended',
          errors: ['not_found'],
        }),
        params: closed({
          id: integerText({ description: 'User id' }),
          session_id: integerText({ description: 'Session id' }),
        }),
      },
    )
}
