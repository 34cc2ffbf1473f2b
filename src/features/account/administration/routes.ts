/** `/admin/users/:id/email`, `/2fa/reset`, `/throttle` and `/unlock`: how an administrator lets a user back in. */
import { Elysia, t } from 'elysia'
import { sendResource } from '../../../http/conditional.ts'
import { envelope } from '../../../http/envelope.ts'
import type { Guard } from '../../../http/guard.ts'
import { type Call, operation } from '../../../http/operation.ts'
import { idParams, toInteger } from '../../../http/schema.ts'
import type { Throttle } from '../proof/throttle.ts'
import type { Users } from '../users/users.ts'
import type { Administration } from './administration.ts'
import * as model from './model.ts'

const OWN_FACTORS =
  'Requires the password of the calling administrator and, with two-factor authentication on, a code. An API key cannot do this.'

const tag = 'Users'

const operations = {
  changeUserEmail: operation('admin_session', {
    id: 'changeUserEmail',
    summary: 'Change the email address of a user who lost access to the mailbox',
    description: `Takes effect at once, without a confirmation from the new address. The old address is notified by email, and reset links sent to it stop working. Sessions and API keys stay valid. ${OWN_FACTORS}`,
    tag,
    params: idParams('User id'),
    body: model.UserEmailChange,
    data: t.Null(),
    message: 'Email address changed',
    errors: ['invalid_credentials', 'two_factor_required', 'two_factor_invalid', 'not_found', 'conflict'],
  }),
  resetUserTwoFactor: operation('admin_session', {
    id: 'resetUserTwoFactor',
    summary: 'Switch two-factor authentication off for a user who lost the second factor',
    description: `Ends all sessions of the user; API keys stay valid. The user is notified by email. ${OWN_FACTORS}`,
    tag,
    params: idParams('User id'),
    body: model.OwnFactors,
    data: t.Null(),
    message: 'Two-factor authentication switched off',
    errors: ['invalid_credentials', 'two_factor_required', 'two_factor_invalid', 'not_found', 'conflict'],
  }),
  getUserThrottle: operation('admin', {
    id: 'getUserThrottle',
    summary: 'Show the failed login attempts on an account',
    description:
      'Counts attempts from addresses without a login in the last 30 days. Logins from known addresses, sessions and API keys are not slowed down.',
    scope: 'users:read',
    tag,
    params: idParams('User id'),
    conditional: true,
    data: model.ThrottleModel,
    errors: ['not_found'],
  }),
  unlockUser: operation('admin', {
    id: 'unlockUser',
    summary: 'Let a user log in again after too many failed attempts',
    description: 'Forgets all failed attempts on the account, from every address. The user is notified by email.',
    scope: 'users:write',
    tag,
    params: idParams('User id'),
    data: t.Null(),
    message: 'User unlocked',
    errors: ['not_found'],
  }),
}

export type AdministrationRoutesOptions = {
  guard: Guard
  administration: Administration
  throttle: Throttle
  /** @throws AppError `not_found` */
  getUser: Users['get']
}

export function administrationRoutes({ guard, administration, throttle, getUser }: AdministrationRoutesOptions) {
  async function changeUserEmail({ caller, params, body }: Call<typeof operations.changeUserEmail>) {
    const { email, password, totp_code: totpCode } = body
    await administration.moveEmail(caller, toInteger(params.id), email, { password, totpCode })
    return envelope(null, operations.changeUserEmail.message)
  }

  async function resetUserTwoFactor({
    caller,
    params,
    body: { password, totp_code: totpCode },
  }: Call<typeof operations.resetUserTwoFactor>) {
    await administration.resetTwoFactor(caller, toInteger(params.id), { password, totpCode })
    return envelope(null, operations.resetUserTwoFactor.message)
  }

  async function getUserThrottle({ params, context }: Call<typeof operations.getUserThrottle>) {
    const { id } = await getUser(toInteger(params.id))
    return sendResource(context, model.toThrottle(await throttle.stateOf(id)))
  }

  async function unlockUser({ caller, params }: Call<typeof operations.unlockUser>) {
    await administration.unlock(caller, toInteger(params.id))
    return envelope(null, operations.unlockUser.message)
  }

  return new Elysia({ prefix: '/admin/users/:id' })
    .use(guard)
    .post('/email', changeUserEmail, operations.changeUserEmail)
    .post('/2fa/reset', resetUserTwoFactor, operations.resetUserTwoFactor)
    .get('/throttle', getUserThrottle, operations.getUserThrottle)
    .post('/unlock', unlockUser, operations.unlockUser)
}
