/** `/auth/password` and `/auth/password-reset`: change your password, or set one with a token. */
import { Elysia, t } from 'elysia'
import { envelope } from '../../../http/envelope.ts'
import type { Guard } from '../../../http/guard.ts'
import { type Call, type OpenCall, openOperation, operation } from '../../../http/operation.ts'
import { unauthenticatedClientOf } from '../../../http/request-context.ts'
import * as model from './model.ts'
import type { PasswordService } from './password.ts'
import type { PasswordReset } from './password-reset.ts'

const tag = 'Authentication'

const operations = {
  changePassword: operation('session', {
    id: 'changePassword',
    summary: 'Change your password',
    description: 'Ends all other sessions of the user. API keys stay valid.',
    tag,
    body: model.PasswordChange,
    data: t.Null(),
    message: 'Password changed',
    errors: ['invalid_credentials', 'two_factor_required', 'two_factor_invalid', 'conflict'],
  }),
  requestPasswordReset: openOperation({
    id: 'requestPasswordReset',
    summary: 'Ask for an email with a link to set a new password',
    description:
      'The response is the same whether or not the address is known. Each token is valid for ten minutes, and using one voids the others. Emails to one account are spaced by intervals that grow from one minute to an hour.',
    tag,
    body: model.PasswordResetRequest,
    data: t.Null(),
    message: 'If the address is known, an email is on its way',
  }),
  confirmPasswordReset: openOperation({
    id: 'confirmPasswordReset',
    summary: 'Set a password with a token',
    description:
      'The token works once. Ends all sessions of the user and leaves two-factor authentication on; the user then logs in.',
    tag,
    body: model.PasswordConfirm,
    data: t.Null(),
    message: 'Password set; log in with it',
  }),
}

export type PasswordRoutesOptions = { guard: Guard; password: PasswordService; passwordReset: PasswordReset }

export function passwordRoutes({ guard, password, passwordReset }: PasswordRoutesOptions) {
  async function changePassword({ caller, body }: Call<typeof operations.changePassword>) {
    const { current_password: currentPassword, new_password: newPassword, totp_code: totpCode } = body
    await password.change(caller, { currentPassword, newPassword, totpCode })
    return envelope(null, operations.changePassword.message)
  }

  function requestPasswordReset({ context, body }: OpenCall<typeof operations.requestPasswordReset>) {
    passwordReset.request(unauthenticatedClientOf(context), body.email)
    return envelope(null, operations.requestPasswordReset.message)
  }

  async function confirmPasswordReset({ context, body }: OpenCall<typeof operations.confirmPasswordReset>) {
    await password.redeem(unauthenticatedClientOf(context), body.token, body.password)
    return envelope(null, operations.confirmPasswordReset.message)
  }

  return new Elysia({ prefix: '/auth' })
    .use(guard)
    .post('/password', changePassword, operations.changePassword)
    .post('/password-reset', requestPasswordReset, operations.requestPasswordReset)
    .post('/password-reset/confirm', confirmPasswordReset, operations.confirmPasswordReset)
}
