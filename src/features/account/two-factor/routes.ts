/** `/auth/2fa`: enrol in two-factor authentication, and disable it. */
import { Elysia, t } from 'elysia'
import { envelope } from '../../../http/envelope.ts'
import type { Guard } from '../../../http/guard.ts'
import { type Call, operation } from '../../../http/operation.ts'
import * as model from './model.ts'
import type { TwoFactor } from './two-factor.ts'

const tag = 'Authentication'

const operations = {
  setUpTwoFactor: operation('enrolling', {
    id: 'setUpTwoFactor',
    summary: 'Start enrolling in two-factor authentication',
    description:
      'Returns the seed for an authenticator app. Nothing changes until `/auth/2fa/enable` receives a code from it.',
    tag,
    body: model.TwoFactorSetup,
    data: model.TwoFactorSetupModel,
    message: 'Confirm with a code to enable',
    errors: ['invalid_credentials', 'conflict'],
  }),
  enableTwoFactor: operation('enrolling', {
    id: 'enableTwoFactor',
    summary: 'Confirm enrolment with a code',
    description: 'Returns ten recovery codes, shown only once, and ends all other sessions of the user.',
    tag,
    body: model.TwoFactorEnable,
    data: model.RecoveryCodesModel,
    message: 'Two-factor authentication enabled',
    errors: ['two_factor_invalid', 'conflict'],
  }),
  disableTwoFactor: operation('session', {
    id: 'disableTwoFactor',
    summary: 'Switch two-factor authentication off',
    description: 'Requires the password and a code. The recovery codes stop working.',
    tag,
    body: model.TwoFactorProof,
    data: t.Null(),
    message: 'Two-factor authentication disabled',
    errors: ['invalid_credentials', 'two_factor_invalid', 'conflict'],
  }),
  renewRecoveryCodes: operation('session', {
    id: 'renewRecoveryCodes',
    summary: 'Replace the recovery codes',
    description: 'Requires the password and a code. The previous recovery codes stop working.',
    tag,
    body: model.TwoFactorProof,
    data: model.RecoveryCodesModel,
    message: 'The former recovery codes no longer work',
    errors: ['invalid_credentials', 'two_factor_invalid', 'conflict'],
  }),
}

export function twoFactorRoutes({ guard, twoFactor }: { guard: Guard; twoFactor: TwoFactor }) {
  async function setUpTwoFactor({ caller, body }: Call<typeof operations.setUpTwoFactor>) {
    const { secret, uri, qrSvg } = await twoFactor.setUp(caller, body.password)
    return envelope({ secret, otpauth_uri: uri, qr_svg: qrSvg }, operations.setUpTwoFactor.message)
  }

  async function enableTwoFactor({ caller, body }: Call<typeof operations.enableTwoFactor>) {
    const codes = await twoFactor.enable(caller, body.totp_code)
    return envelope({ recovery_codes: codes }, operations.enableTwoFactor.message)
  }

  async function disableTwoFactor({ caller, body }: Call<typeof operations.disableTwoFactor>) {
    await twoFactor.disable(caller, { password: body.password, code: body.totp_code })
    return envelope(null, operations.disableTwoFactor.message)
  }

  async function renewRecoveryCodes({ caller, body }: Call<typeof operations.renewRecoveryCodes>) {
    const proof = { password: body.password, code: body.totp_code }
    const codes = await twoFactor.renewRecoveryCodes(caller, proof)
    return envelope({ recovery_codes: codes }, operations.renewRecoveryCodes.message)
  }

  return new Elysia({ prefix: '/auth/2fa' })
    .use(guard)
    .post('/setup', setUpTwoFactor, operations.setUpTwoFactor)
    .post('/enable', enableTwoFactor, operations.enableTwoFactor)
    .post('/disable', disableTwoFactor, operations.disableTwoFactor)
    .post('/recovery-codes', renewRecoveryCodes, operations.renewRecoveryCodes)
}
