/** `/auth`: login, logout and your sessions. */
import { Elysia, t } from 'elysia'
import { sessionIdOf } from '../../../core/principal.ts'
import type { AccessTokens } from '../../../http/access-token.ts'
import { representPage, sendPage } from '../../../http/conditional.ts'
import { envelope } from '../../../http/envelope.ts'
import type { Guard } from '../../../http/guard.ts'
import { type Call, type OpenCall, openOperation, operation } from '../../../http/operation.ts'
import { pageOfQuery, pageQuery } from '../../../http/page.ts'
import { unauthenticatedClientOf } from '../../../http/request-context.ts'
import { closed, idParams, toInteger } from '../../../http/schema.ts'
import { toUser } from '../model.ts'
import type { Login } from './login.ts'
import * as model from './model.ts'
import type { Sessions } from './sessions.ts'

const tag = 'Authentication'

const operations = {
  login: openOperation({
    id: 'login',
    summary: 'Log in',
    description:
      'Returns a JWT. With two-factor authentication on, a correct password without `totp_code` gets `2fa_required`.',
    tag,
    body: model.LoginRequest,
    data: model.LoginModel,
    message: 'Login successful',
    errors: ['invalid_credentials', 'two_factor_required', 'two_factor_invalid'],
  }),
  logout: operation('enrolling', {
    id: 'logout',
    summary: 'Log out',
    description: 'Ends the session of this JWT at once.',
    tag,
    data: t.Null(),
    message: 'Logged out',
  }),
  listSessions: operation('session', {
    id: 'listSessions',
    summary: 'List your sessions',
    description: 'Where the user is logged in. Each login starts a session, and each JWT belongs to one.',
    tag,
    query: closed(pageQuery),
    paged: true,
    data: t.Array(model.SessionModel),
  }),
  endSession: operation('session', {
    id: 'endSession',
    summary: 'End one of your sessions',
    description: 'Its JWT stops working at once.',
    tag,
    params: idParams('Session id'),
    data: t.Null(),
    message: 'Session ended',
    errors: ['forbidden', 'not_found'],
  }),
}

export type AuthRoutesOptions = {
  guard: Guard
  login: Login
  sessions: Sessions
  tokens: AccessTokens
}

export function authRoutes({ guard, login, sessions, tokens }: AuthRoutesOptions) {
  async function logIn({ body, context }: OpenCall<typeof operations.login>) {
    const { email, password, totp_code: totpCode } = body
    const { user, session } = await login(unauthenticatedClientOf(context), { email, password, totpCode })
    return envelope({ token: await tokens.sign(session), user: toUser(user) }, operations.login.message)
  }

  async function logout({ caller }: Call<typeof operations.logout>) {
    await sessions.logout(caller)
    return envelope(null, operations.logout.message)
  }

  async function listSessions({ caller, query, context }: Call<typeof operations.listSessions>) {
    const page = await sessions.list(caller.userId, pageOfQuery(query))
    return sendPage(
      context,
      query,
      representPage(page, (session) => model.toSession(session, sessionIdOf(caller))),
    )
  }

  async function endSession({ caller, params }: Call<typeof operations.endSession>) {
    await sessions.end(caller, toInteger(params.id))
    return envelope(null, operations.endSession.message)
  }

  return new Elysia({ prefix: '/auth' })
    .use(guard)
    .post('/login', logIn, operations.login)
    .post('/logout', logout, operations.logout)
    .get('/sessions', listSessions, operations.listSessions)
    .delete('/sessions/:id', endSession, operations.endSession)
}
