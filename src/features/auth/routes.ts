/** `/auth`: login and logout, sessions, the password, two-factor authentication. */
import { Elysia, t } from 'elysia'
import { AppError } from '../../core/errors.ts'
import type { Principal } from '../../core/principal.ts'
import { formatTimestamp } from '../../core/timestamp.ts'
import type { AccessTokens } from '../../http/access-token.ts'
import { representPage, sendPage } from '../../http/conditional.ts'
import { envelope } from '../../http/envelope.ts'
import type { Guard } from '../../http/guard.ts'
import { openOperation, operation } from '../../http/operation.ts'
import { pageOfQuery, pageQuery } from '../../http/page.ts'
import { closed, idParams, toInteger } from '../../http/schema.ts'
import type { Visit } from '../../http/visit.ts'
import type { Users } from '../users/users.ts'
import type { Login } from './login.ts'
import * as model from './model.ts'
import type { PasswordService } from './password.ts'
import type { PasswordReset } from './password-reset.ts'
import type { Origin, Sessions } from './sessions.ts'
import type { TwoFactor } from './two-factor.ts'

export type AuthRoutesOptions = {
  guard: Guard
  login: Login
  sessions: Sessions
  password: PasswordService
  passwordReset: PasswordReset
  twoFactor: TwoFactor
  tokens: AccessTokens
  getUser: Users['get']
}

const tag = 'Authentication'

export function authRoutes({
  guard,
  login,
  sessions,
  password,
  passwordReset,
  twoFactor,
  tokens,
  getUser,
}: AuthRoutesOptions) {
  return new Elysia({ prefix: '/auth' })
    .use(guard)
    .post(
      '/login',
      async ({ body, request, visit }) => {
        const { user, session } = await login(
          { email: body.email, password: body.password, totpCode: body.totp_code },
          originOf(visit, request),
        )
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
      async ({ principal }) => {
        await sessions.end(principal.userId, sessionIdOf(principal))
        return envelope(null, 'Logged out')
      },
      operation('session', {
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
      async ({ principal }) => {
        const { credential } = principal
        return envelope({
          user: model.toUser(await getUser(principal.userId)),
          credential: {
            kind: credential.kind,
            id: credential.kind === 'jwt' ? credential.sessionId : credential.keyId,
            expires_at: credential.expiresAt === null ? null : formatTimestamp(credential.expiresAt),
          },
        })
      },
      operation('user', { id: 'getMe', summary: 'Show who this credential belongs to', tag, data: model.MeModel }),
    )
    .get(
      '/sessions',
      async ({ principal, query, request, set, visit }) => {
        const page = await sessions.list(principal.userId, pageOfQuery(query))
        return sendPage(
          { request, set, visit, query },
          representPage(page, (session) => model.toSession(session, sessionIdOf(principal))),
        )
      },
      {
        ...operation('session', {
          id: 'listSessions',
          summary: 'List own sessions',
          tag,
          paged: true,
          data: t.Array(model.SessionModel),
        }),
        query: closed(pageQuery),
      },
    )
    .delete(
      '/sessions/:id',
      async ({ principal, params }) => {
        await sessions.end(principal.userId, toInteger(params.id))
        return envelope(null, 'Session ended')
      },
      {
        ...operation('session', {
          id: 'endSession',
          summary: 'End one of the own sessions',
          tag,
          data: t.Null(),
          message: 'Session ended',
          errors: ['forbidden', 'not_found'],
        }),
        params: idParams('Session id'),
      },
    )
    .post(
      '/password',
      async ({ principal, body, visit, request }) => {
        const passwords = { currentPassword: body.current_password, newPassword: body.new_password }
        await password.change(principal.userId, passwords, sessionIdOf(principal), originOf(visit, request))
        return envelope(null, 'Password changed')
      },
      {
        ...operation('session', {
          id: 'changePassword',
          summary: 'Change the own password',
          description: 'Ends all other sessions of the user. API keys stay.',
          tag,
          body: true,
          data: t.Null(),
          message: 'Password changed',
          errors: ['invalid_credentials', 'conflict'],
        }),
        body: model.PasswordChange,
      },
    )
    .post(
      '/password-reset',
      ({ body }) => {
        passwordReset.request(body.email)
        return envelope(null, 'If the address is known, a mail is on its way')
      },
      {
        ...openOperation({
          id: 'requestPasswordReset',
          summary: 'Ask for a mail to set a new password with',
          description:
            'Answers the same whether or not the address is known. The token of the newest mail is valid for ten minutes; one mail a minute is sent.',
          tag,
          body: true,
          data: t.Null(),
          message: 'If the address is known, a mail is on its way',
        }),
        body: model.PasswordResetRequest,
      },
    )
    .post(
      '/password-reset/confirm',
      async ({ body, visit, request }) => {
        await password.redeem(body.token, body.password, originOf(visit, request))
        return envelope(null, 'Password set; log in with it')
      },
      {
        ...openOperation({
          id: 'confirmPasswordReset',
          summary: 'Set a password with a token',
          description:
            'Works once. Ends all sessions of the user, logs nobody in, leaves two-factor authentication on.',
          tag,
          body: true,
          data: t.Null(),
          message: 'Password set; log in with it',
        }),
        body: model.PasswordConfirm,
      },
    )
    .post(
      '/2fa/setup',
      async ({ principal, body, visit, request }) => {
        const origin = originOf(visit, request)
        const { secret, uri, qrSvg } = await twoFactor.setUp(principal.userId, body.password, origin)
        return envelope({ secret, otpauth_uri: uri, qr_svg: qrSvg }, 'Confirm with a code to enable')
      },
      {
        ...operation('session', {
          id: 'setUpTwoFactor',
          summary: 'Begin to enrol in two-factor authentication',
          tag,
          body: true,
          data: model.TwoFactorSetupModel,
          message: 'Confirm with a code to enable',
          errors: ['invalid_credentials', 'conflict'],
        }),
        body: model.TwoFactorSetup,
      },
    )
    .post(
      '/2fa/enable',
      async ({ principal, body }) => {
        const codes = await twoFactor.enable(principal.userId, body.totp_code, sessionIdOf(principal))
        return envelope({ recovery_codes: codes }, 'Two-factor authentication enabled')
      },
      {
        ...operation('session', {
          id: 'enableTwoFactor',
          summary: 'Finish to enrol with a first code',
          description: 'Gives ten recovery codes, this once, and ends all other sessions of the user.',
          tag,
          body: true,
          data: model.RecoveryCodesModel,
          message: 'Two-factor authentication enabled',
          errors: ['two_factor_invalid', 'conflict'],
        }),
        body: model.TwoFactorEnable,
      },
    )
    .post(
      '/2fa/disable',
      async ({ principal, body, visit, request }) => {
        const proof = { password: body.password, code: body.totp_code }
        await twoFactor.disable(principal.userId, proof, sessionIdOf(principal), originOf(visit, request))
        return envelope(null, 'Two-factor authentication disabled')
      },
      {
        ...operation('session', {
          id: 'disableTwoFactor',
          summary: 'Switch two-factor authentication off',
          tag,
          body: true,
          data: t.Null(),
          message: 'Two-factor authentication disabled',
          errors: ['invalid_credentials', 'two_factor_invalid', 'conflict'],
        }),
        body: model.TwoFactorProof,
      },
    )
    .post(
      '/2fa/recovery-codes',
      async ({ principal, body, visit, request }) => {
        const proof = { password: body.password, code: body.totp_code }
        const codes = await twoFactor.renewRecoveryCodes(principal.userId, proof, originOf(visit, request))
        return envelope({ recovery_codes: codes }, 'The former recovery codes no longer work')
      },
      {
        ...operation('session', {
          id: 'renewRecoveryCodes',
          summary: 'Replace the recovery codes',
          tag,
          body: true,
          data: model.RecoveryCodesModel,
          message: 'The former recovery codes no longer work',
          errors: ['invalid_credentials', 'two_factor_invalid', 'conflict'],
        }),
        body: model.TwoFactorProof,
      },
    )
}

function originOf({ client }: Visit, request: Request): Origin {
  return { ...client, userAgent: request.headers.get('user-agent') ?? '' }
}

/** The session of a principal that the guard has let through as `session`. */
function sessionIdOf({ credential }: Principal): number {
  if (credential.kind !== 'jwt') throw new AppError('forbidden')
  return credential.sessionId
}
