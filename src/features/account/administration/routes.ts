/** `/admin/users/:id/email`, `/2fa/reset`, `/throttle` and `/unlock`: how an administrator lets a user in again. */
import { Elysia, t } from 'elysia'
import { sendResource } from '../../../http/conditional.ts'
import { envelope } from '../../../http/envelope.ts'
import type { Guard } from '../../../http/guard.ts'
import { operation } from '../../../http/operation.ts'
import { idParams, toInteger } from '../../../http/schema.ts'
import { callerOf } from '../../../http/visit.ts'
import * as model from '../model.ts'
import type { Throttle } from '../proof/throttle.ts'
import type { Users } from '../users/users.ts'
import type { Administration } from './administration.ts'

const tag = 'Users'
const OWN_FACTORS =
  'Requires the password of the calling administrator and, with two-factor authentication on, a code. An API key cannot do this.'

export type AdministrationRoutesOptions = {
  guard: Guard
  administration: Administration
  throttle: Throttle
  /** @throws AppError `not_found` */
  getUser: Users['get']
}

export function administrationRoutes({ guard, administration, throttle, getUser }: AdministrationRoutesOptions) {
  return new Elysia({ prefix: '/admin/users/:id' })
    .use(guard)
    .post(
      '/email',
      async ({ visit, params, body }) => {
        const { email, password, totp_code: totpCode } = body
        await administration.moveEmail(callerOf(visit), toInteger(params.id), email, { password, totpCode })
        return envelope(null, 'Email address changed')
      },
      {
        ...operation('admin_session', {
          id: 'changeUserEmail',
          summary: 'Move a user without access to the mailbox to another email address',
          description: `Takes effect at once, without a confirmation from the new address. The old address is told by email, and reset links sent to it stop working. Sessions and API keys stay valid. ${OWN_FACTORS}`,
          tag,
          body: true,
          data: t.Null(),
          message: 'Email address changed',
          errors: ['invalid_credentials', 'two_factor_required', 'two_factor_invalid', 'not_found', 'conflict'],
        }),
        params: idParams('User id'),
        body: model.UserEmailChange,
      },
    )
    .post(
      '/2fa/reset',
      async ({ visit, params, body: { password, totp_code: totpCode } }) => {
        await administration.resetTwoFactor(callerOf(visit), toInteger(params.id), { password, totpCode })
        return envelope(null, 'Two-factor authentication switched off')
      },
      {
        ...operation('admin_session', {
          id: 'resetUserTwoFactor',
          summary: 'Switch two-factor authentication off for a user who lost the second factor',
          description: `Ends all sessions of the user; API keys stay valid. The user is told by email. ${OWN_FACTORS}`,
          tag,
          body: true,
          data: t.Null(),
          message: 'Two-factor authentication switched off',
          errors: ['invalid_credentials', 'two_factor_required', 'two_factor_invalid', 'not_found', 'conflict'],
        }),
        params: idParams('User id'),
        body: model.OwnFactors,
      },
    )
    .get(
      '/throttle',
      async ({ params, set, visit }) => {
        const { id } = await getUser(toInteger(params.id))
        return sendResource({ set, visit }, model.toThrottle(await throttle.stateOf(id)))
      },
      {
        ...operation('admin', {
          id: 'getUserThrottle',
          summary: 'Show failed login attempts at an account',
          description:
            'Counts attempts from addresses without a login in the last 30 days. Logins from known addresses, sessions and API keys are not slowed down.',
          scope: 'users:read',
          tag,
          conditional: true,
          data: model.ThrottleModel,
          errors: ['not_found'],
        }),
        params: idParams('User id'),
      },
    )
    .post(
      '/unlock',
      async ({ visit, params }) => {
        await administration.unlock(callerOf(visit), toInteger(params.id))
        return envelope(null, 'User unlocked')
      },
      {
        ...operation('admin', {
          id: 'unlockUser',
          summary: 'Let a user log in again after too many failed attempts',
          description: 'Forgets all failed attempts at the account, from every address. The user is told by email.',
          scope: 'users:write',
          tag,
          data: t.Null(),
          message: 'User unlocked',
          errors: ['not_found'],
        }),
        params: idParams('User id'),
      },
    )
}
