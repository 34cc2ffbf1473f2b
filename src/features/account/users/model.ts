/** The schemas of `/admin/users`. */
import { t } from 'elysia'
import { formatTimestamp } from '../../../core/timestamp.ts'
import { choice, closed, emailAddress, idOut, label, text, timestampOut } from '../../../http/schema.ts'
import type { Activation } from './activation.ts'
import type { InvitedUser, User } from './users.ts'

const role = (description?: string) => choice(['admin', 'customer'], description)
const status = (description?: string) => choice(['active', 'disabled'], description)

export const CreateUser = closed({ email: emailAddress(), name: label(['Ada Lovelace']), role: role() })
export const ChangeUser = closed({
  name: t.Optional(label(['Ada Lovelace'])),
  role: t.Optional(role()),
  status: t.Optional(status()),
})

const fields = {
  id: idOut(),
  email: emailAddress(),
  name: t.String({ examples: ['Ada Lovelace'] }),
  role: role(),
  status: status(),
  two_factor_enabled: t.Boolean(),
  created_at: timestampOut(),
  updated_at: timestampOut(),
}

export const userFilter = {
  email: t.Optional(
    text({ minLength: 1, maxLength: 254, examples: ['@example.com'], description: 'Part of the email' }),
  ),
  name: t.Optional(
    text({
      minLength: 1,
      maxLength: 100,
      examples: ['lovelace'],
      description: 'Part of the name; the case of A to Z does not matter',
    }),
  ),
  role: t.Optional(role('Only users of this role')),
  status: t.Optional(status('Only users of this status')),
}

export const AccountModel = t.Object(fields, { additionalProperties: false, title: 'Account' })
export const ActivationModel = t.Object(
  { token: t.String({ examples: ['Zm9vYmFy…'], description: 'Shown only once' }), expires_at: timestampOut() },
  {
    additionalProperties: false,
    title: 'Activation',
    description: 'Sets the password at `POST /auth/password-reset/confirm`',
  },
)
export const InvitedAccountModel = t.Object(
  { ...fields, activation: ActivationModel },
  { additionalProperties: false, title: 'InvitedAccount' },
)

export function toAccount(user: User) {
  return {
    id: user.id,
    email: user.email,
    name: user.name,
    role: user.role,
    status: user.status,
    two_factor_enabled: user.totpEnabledAt !== null,
    created_at: formatTimestamp(user.createdAt),
    updated_at: formatTimestamp(user.updatedAt),
  }
}

export function toInvitedAccount({ user, activation }: InvitedUser) {
  return { ...toAccount(user), activation: toActivation(activation) }
}

export function toActivation({ token, expiresAt }: Activation) {
  return { token, expires_at: formatTimestamp(expiresAt) }
}
