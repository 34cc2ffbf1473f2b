/** `/auth`: login and logout, who one is, and one's sessions. */
import { Elysia, t } from 'elysia'
import { sessionIdOf } from '../../../core/principal.ts'
import type { AccessTokens } from '../../../http/access-token.ts'
import { representPage, sendPage } from '../../../http/conditional.ts'
import { envelope } from '../../../http/envelope.ts'
import type { Guard } from '../../../http/guard.ts'
import { openOperation, operation } from '../../../http/operation.ts'
import { pageOfQuery, pageQuery } from '../../../http/page.ts'
import { closed, idParams, toInteger } from '../../../http/schema.ts'
import { callerOf, strangerOf } from '../../../http/visit.ts'
import type { ApiKeys } from '../api-keys/api-keys.ts'
import * as model from '../model.ts'
import type { Users } from '../users/users.ts'
import type { Login } from './login.ts'
import type { Sessions } from './sessions.ts'

export type AuthRoutesOptions = {
  guard: Guard
  login: Login
  sessions: Sessions
  tokens: AccessTokens
  getUser: Users['get']
  findKey: ApiKeys['find']
}

const tag = 'Authentication'

export function authRoutes({ guard, login, sessions, tokens, getUser, findKey }: AuthRoutesOptions) {
  return new Elysia({ prefix: '/auth' })
    .use(guard)
    .post(
      '/login',
      async ({ body, visit }) => {
        const { email, password, totp_code: totpCode } = body
        const { user, session } = await login(strangerOf(visit), { email, password, totpCode })
        return envelope({ token: await tokens.sign(session), user: model.toUser(user) }, 'Login successful')
      },
      {
        ...openOperation({
          id: 'login',
          summary: 'Log in',
          description:
            'Gives a JWT. A user with two-factor authentication gets `2fa_required` without `totp_code`, once the password was right.',
          tag,
          body: true,
          data: model.LoginModel,
          message: 'Login successful',
          errors: ['invalid_credentials', 'two_factor_required', 'two_factor_invalid'],
        }),
        body: model.LoginRequest,
      },
    )
    .post(
      '/logout',
      async ({ visit }) => {
        await sessions.logout(callerOf(visit))
        return envelope(null, 'Logged out')
      },
      operation('enrolling', {
        id: 'logout',
        summary: 'Log out',
        description: 'Ends the session of the JWT that asks, at once.',
        tag,
        data: t.Null(),
        message: 'Logged out',
      }),
    )
    .get(
      '/me',
      async ({ principal, visit }) => {
        const { credential } = principal
        const key = credential.kind === 'jwt' ? undefined : await findKey(principal, credential.keyId)
        return envelope({
          user: model.toUser(await getUser(principal.userId)),
          credential: model.toCredential(credential, key),
          rate_limit: model.toRateLimit(visit.responseHeaders),
        })
      },
      operation('user', {
        id: 'getMe',
        summary: 'Show whose credential this is, and what it may do',
        description: 'The call that a script makes first. Every key may.',
        scope: null,
        confined: true,
        tag,
        data: model.MeModel,
      }),
    )
    .get(
      '/sessions',
      async ({ principal, query, set, visit }) => {
        const page = await sessions.list(principal.userId, pageOfQuery(query))
        return sendPage(
          { set, visit, query },
          representPage(page, (session) => model.toSession(session, sessionIdOf(principal))),
        )
      },
      {
        ...operation('session', {
          id: 'listSessions',
          summary: 'List your sessions',
          description: 'Where the user is logged in. Each login starts a session, and each JWT belongs to one.',
          tag,
          paged: true,
          data: t.Array(model.SessionModel),
        }),
        query: closed(pageQuery),
      },
    )
    .delete(
      '/sessions/:id',
      async ({ visit, params }) => {
        await sessions.end(callerOf(visit), toInteger(params.id))
        return envelope(null, 'Session ended')
      },
      {
        ...operation('session', {
          id: 'endSession',
          summary: 'End one of your sessions',
          description: 'Its JWT stops working at once.',
          tag,
          data: t.Null(),
          message: 'Session ended',
          errors: ['forbidden', 'not_found'],
        }),
        params: idParams('Session id'),
      },
    )
}
