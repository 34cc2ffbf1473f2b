/** `/auth/email`: change the email address of your account. */
import { Elysia, t } from 'elysia'
import { envelope } from '../../../http/envelope.ts'
import type { Guard } from '../../../http/guard.ts'
import { type Call, type OpenCall, openOperation, operation } from '../../../http/operation.ts'
import { unauthenticatedClientOf } from '../../../http/request-context.ts'
import type { EmailChange } from './email-change.ts'
import * as model from './model.ts'

const tag = 'Authentication'

const operations = {
  requestEmailChange: operation('session', {
    id: 'requestEmailChange',
    summary: 'Request a change of your email address',
    description:
      'Emails a token, valid for ten minutes, to the new address, and a notice to the current one. The response is the same when another user has the address.',
    tag,
    body: model.EmailChange,
    data: t.Null(),
    message: 'An email is on its way to the new address',
    errors: ['invalid_credentials', 'two_factor_required', 'two_factor_invalid', 'conflict'],
  }),
  confirmEmailChange: openOperation({
    id: 'confirmEmailChange',
    summary: 'Confirm the new address with the token from the email',
    description:
      'The token works once. Sessions and API keys stay valid; reset links sent to the old address stop working.',
    tag,
    body: model.EmailConfirm,
    data: t.Null(),
    message: 'Email address changed; log in with it',
    errors: ['conflict'],
  }),
}

export function emailRoutes({ guard, emailChange }: { guard: Guard; emailChange: EmailChange }) {
  async function requestEmailChange({ caller, body }: Call<typeof operations.requestEmailChange>) {
    const { email, password, totp_code: totpCode } = body
    await emailChange.request(caller, { email, password, totpCode })
    return envelope(null, operations.requestEmailChange.message)
  }

  async function confirmEmailChange({ context, body }: OpenCall<typeof operations.confirmEmailChange>) {
    await emailChange.confirm(unauthenticatedClientOf(context), body.token)
    return envelope(null, operations.confirmEmailChange.message)
  }

  return new Elysia({ prefix: '/auth/email' })
    .use(guard)
    .post('', requestEmailChange, operations.requestEmailChange)
    .post('/confirm', confirmEmailChange, operations.confirmEmailChange)
}
