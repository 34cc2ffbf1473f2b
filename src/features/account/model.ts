/** Schemas shared by several parts of an account. */
import { t } from 'elysia'
import { PASSWORD_LENGTH } from '../../crypto/password-rules.ts'
import type { users } from '../../db/tables.ts'
import { choice, emailAddress, idOut, text, totpCode } from '../../http/schema.ts'

/** Its length is checked before anything is looked up or hashed; the service has the rules for new passwords. */
export const password = () =>
  text({ maxLength: PASSWORD_LENGTH.maximum, format: 'password', examples: ['correct horse battery staple'] })

/** For requests that take both factors from a user with two-factor authentication on. */
export const codeWhenEnrolled = () =>
  t.Optional({ ...totpCode(), description: 'Required with two-factor authentication on' })

export const mailedToken = () =>
  text({ maxLength: 128, examples: ['Zm9vYmFy…'], description: 'From the email or the activation' })

export const UserModel = t.Object(
  { id: idOut(), email: emailAddress(), name: t.String({ examples: ['Ada'] }), role: choice(['admin', 'customer']) },
  { additionalProperties: false, title: 'User' },
)

/** The contract's User. */
export function toUser({ id, email, name, role }: typeof users.$inferSelect) {
  return { id, email, name, role }
}
