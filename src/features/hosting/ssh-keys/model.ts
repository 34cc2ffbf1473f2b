/** The schemas of `/subscriptions/:id/ssh-keys`. */
import { t } from 'elysia'
import { formatTimestamp } from '../../../core/timestamp.ts'
import { closed, idOut, integerText, text, timestampOut } from '../../../http/schema.ts'
import type { SshKey } from './ssh-keys.ts'

const EXAMPLE = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl ada@example.com'
/** An RSA key of 16,384 bits has some 2,750 characters. */
const MAX_LENGTH = 4096

export const keyParams = closed({
  id: integerText({ description: 'Subscription id' }),
  key_id: integerText({ description: 'Key id' }),
})

export const AddSshKey = closed({
  public_key: text({
    minLength: 1,
    maxLength: MAX_LENGTH,
    examples: [EXAMPLE],
    description:
      'The line of a `.pub` file: `ssh-ed25519`, `ecdsa-sha2-nistp256`, `-nistp384` or `-nistp521`, or `ssh-rsa` with at least 2048 bits, without options',
  }),
})

export const SshKeyModel = t.Object(
  {
    id: idOut(),
    subscription_id: idOut(),
    type: t.String({ examples: ['ssh-ed25519'] }),
    fingerprint: t.String({
      examples: ['SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU'],
      description: 'As `ssh-keygen -l` shows it',
    }),
    comment: t.String({ examples: ['ada@example.com'] }),
    public_key: t.String({ examples: [EXAMPLE] }),
    created_at: timestampOut(),
  },
  { additionalProperties: false, title: 'SshKey' },
)

export function toSshKey({ id, subscriptionId, type, blob, fingerprint, comment, createdAt }: SshKey) {
  return {
    id,
    subscription_id: subscriptionId,
    type,
    fingerprint,
    comment,
    public_key: `${type} ${blob}${comment === '' ? '' : ` ${comment}`}`,
    created_at: formatTimestamp(createdAt),
  }
}
