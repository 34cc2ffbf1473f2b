/** The schemas of `/auth/2fa`. */
import { t } from 'elysia'
import { closed, totpCode } from '../../../http/schema.ts'
import { password } from '../model.ts'

export const TwoFactorSetup = closed({ password: password() })

export const TwoFactorEnable = closed({ totp_code: totpCode() })

export const TwoFactorProof = closed({ password: password(), totp_code: totpCode() })

export const TwoFactorSetupModel = t.Object(
  {
    secret: t.String({ examples: ['JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'], description: 'The seed, in base32' }),
    otpauth_uri: t.String({ examples: ['otpauth://totp/ncp:ada%40example.com?secret=JBSWY3DPEHPK3PXP&issuer=ncp'] }),
    qr_svg: t.String({ examples: ['<svg></svg>'], description: 'The URI as a QR code' }),
  },
  { additionalProperties: false, title: 'TwoFactorSetup' },
)

export const RecoveryCodesModel = t.Object(
  {
    recovery_codes: t.Array(t.String({ examples: ['7H2KD-0QXWB-93MTN-EZ5RC-4VGPA-J'] }), {
      description: 'Each works once, in place of a code; shown only once',
    }),
  },
  { additionalProperties: false, title: 'RecoveryCodes' },
)
