/** `/auth/email`: moving the account to another address. */
import { Elysia, t } from 'elysia'
import { envelope } from '../../../http/envelope.ts'
import type { Guard } from '../../../http/guard.ts'
import { openOperation, operation } from '../../../http/operation.ts'
import { callerOf, strangerOf } from '../../../http/visit.ts'
import * as model from '../model.ts'
import type { EmailChange } from './email-change.ts'

const tag = 'Authentication'

export function emailRoutes({ guard, emailChange }: { guard: Guard; emailChange: EmailChange }) {
  return new Elysia({ prefix: '/auth/email' })
    .use(guard)
    .post(
      '',
      async ({ visit, body }) => {
        const { email, password, totp_code: totpCode } = body
        await emailChange.request(callerOf(visit), { email, password, totpCode })
        return envelope(null, 'An email is on its way to the new address')
      },
      {
        ...operation('session', {
          id: 'requestEmailChange',
          summary: 'Request a change of your email address',
          description:
            'Mails a token to the new address, valid for ten minutes, and tells the present one. Answers the same when another user has the address.',
          tag,
          body: true,
          data: t.Null(),
          message: 'An email is on its way to the new address',
          errors: ['invalid_credentials', 'two_factor_required', 'two_factor_invalid', 'conflict'],
        }),
        body: model.EmailChange,
      },
    )
    .post(
      '/confirm',
      async ({ visit, body }) => {
        await emailChange.confirm(strangerOf(visit), body.token)
        return envelope(null, 'Email address changed; log in with it')
      },
      {
        ...openOperation({
          id: 'confirmEmailChange',
          summary: 'Confirm the new address with the token from the email',
          description:
            'Works once. Sessions and API keys stay, password resets that were mailed to the old address are void.',
          tag,
          body: true,
          data: t.Null(),
          message: 'Email address changed; log in with it',
          errors: ['conflict'],
        }),
        body: model.EmailConfirm,
      },
    )
}
