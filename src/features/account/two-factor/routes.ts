/** `/auth/2fa`: enrolment in two-factor authentication, and the way out of it. */
import { Elysia, t } from 'elysia'
import { envelope } from '../../../http/envelope.ts'
import type { Guard } from '../../../http/guard.ts'
import { operation } from '../../../http/operation.ts'
import { callerOf } from '../../../http/visit.ts'
import * as model from '../model.ts'
import type { TwoFactor } from './two-factor.ts'

const tag = 'Authentication'

export function twoFactorRoutes({ guard, twoFactor }: { guard: Guard; twoFactor: TwoFactor }) {
  return new Elysia({ prefix: '/auth/2fa' })
    .use(guard)
    .post(
      '/setup',
      async ({ visit, body }) => {
        const { secret, uri, qrSvg } = await twoFactor.setUp(callerOf(visit), body.password)
        return envelope({ secret, otpauth_uri: uri, qr_svg: qrSvg }, 'Confirm with a code to enable')
      },
      {
        ...operation('enrolling', {
          id: 'setUpTwoFactor',
          summary: 'Start enrolling in two-factor authentication',
          description:
            'Returns the seed for an authenticator app. Nothing changes until `/auth/2fa/enable` receives a code from it.',
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
      '/enable',
      async ({ visit, body }) => {
        const codes = await twoFactor.enable(callerOf(visit), body.totp_code)
        return envelope({ recovery_codes: codes }, 'Two-factor authentication enabled')
      },
      {
        ...operation('enrolling', {
          id: 'enableTwoFactor',
          summary: 'Finish enrolling with a first code',
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
      '/disable',
      async ({ visit, body }) => {
        await twoFactor.disable(callerOf(visit), { password: body.password, code: body.totp_code })
        return envelope(null, 'Two-factor authentication disabled')
      },
      {
        ...operation('session', {
          id: 'disableTwoFactor',
          summary: 'Switch two-factor authentication off',
          description: 'Requires the password and a code. The recovery codes stop working.',
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
      '/recovery-codes',
      async ({ visit, body }) => {
        const proof = { password: body.password, code: body.totp_code }
        const codes = await twoFactor.renewRecoveryCodes(callerOf(visit), proof)
        return envelope({ recovery_codes: codes }, 'The former recovery codes no longer work')
      },
      {
        ...operation('session', {
          id: 'renewRecoveryCodes',
          summary: 'Replace the recovery codes',
          description: 'Requires the password and a code. The previous recovery codes stop working.',
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
