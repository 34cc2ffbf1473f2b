/** The schemas of `/auth/email`. */
import { closed, emailAddress } from '../../../http/schema.ts'
import { codeWhenEnrolled, mailedToken, password } from '../model.ts'

export const EmailChange = closed({ email: emailAddress(), password: password(), totp_code: codeWhenEnrolled() })

export const EmailConfirm = closed({ token: mailedToken() })
