/** `/auth/password` and `/auth/password-reset`: the password, changed by its owner or set with a token. */
import { Elysia, t } from 'elysia'
import { envelope } from '../../../http/envelope.ts'
import type { Guard } from '../../../http/guard.ts'
import { openOperation, operation } from '../../../http/operation.ts'
import { callerOf, strangerOf } from '../../../http/visit.ts'
import * as model from '../model.ts'
import type { PasswordService } from './password.ts'
import type { PasswordReset } from './password-reset.ts'

export type PasswordRoutesOptions = { guard: Guard; password: PasswordService; passwordReset: PasswordReset }

const tag = 'Authentication'

export function passwordRoutes({ guard, password, passwordReset }: PasswordRoutesOptions) {
  return new Elysia({ prefix: '/auth' })
    .use(guard)
    .post(
      '/password',
      async ({ visit, body }) => {
        const { current_password: currentPassword, new_password: newPassword, totp_code: totpCode } = body
        await password.change(callerOf(visit), { currentPassword, newPassword, totpCode })
        return envelope(null, 'Password changed')
      },
      {
        ...operation('session', {
          id: 'changePassword',
          summary: 'Change your password',
          description: 'Ends all other sessions of the user. API keys stay.',
          tag,
          body: true,
          data: t.Null(),
          message: 'Password changed',
          errors: ['invalid_credentials', 'two_factor_required', 'two_factor_invalid', 'conflict'],
        }),
        body: model.PasswordChange,
      },
    )
    .post(
      '/password-reset',
      ({ visit, body }) => {
        passwordReset.request(strangerOf(visit), body.email)
        return envelope(null, 'If the address is known, an email is on its way')
      },
      {
        ...openOperation({
          id: 'requestPasswordReset',
          summary: 'Ask for an email with a link to set a new password',
          description:
            'Answers the same whether or not the address is known. Each token is valid for ten minutes, and using one voids the others. Emails to one account are spaced by intervals that grow from one minute to an hour.',
          tag,
          body: true,
          data: t.Null(),
          message: 'If the address is known, an email is on its way',
        }),
        body: model.PasswordResetRequest,
      },
    )
    .post(
      '/password-reset/confirm',
      async ({ visit, body }) => {
        await password.redeem(strangerOf(visit), body.token, body.password)
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
}
