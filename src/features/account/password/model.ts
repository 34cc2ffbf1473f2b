/** The schemas of `/auth/password` and `/auth/password-reset`. */
import { PASSWORD_LENGTH } from '../../../crypto/password-rules.ts'
import { closed, emailAddress, text } from '../../../http/schema.ts'
import { codeWhenEnrolled, mailedToken, password } from '../model.ts'

const newPassword = () =>
  text({
    minLength: PASSWORD_LENGTH.minimum,
    maxLength: PASSWORD_LENGTH.maximum,
    format: 'password',
    examples: ['seven grey kettles on a windy roof'],
  })

export const PasswordChange = closed({
  current_password: password(),
  new_password: newPassword(),
  totp_code: codeWhenEnrolled(),
})

export const PasswordResetRequest = closed({ email: emailAddress() })

export const PasswordConfirm = closed({
  token: mailedToken(),
  password: newPassword(),
})
