/** What `/auth/api-keys` takes and gives: exactly the contract's fields. */
import { t } from 'elysia'
import { formatTimestamp } from '../../core/timestamp.ts'
import { closed, idOut, label, nullable, timestampIn, timestampOut, totpCode } from '../../http/schema.ts'
import type { ApiKey } from './api-keys.ts'

export const CreateApiKey = closed({
  name: label(['Deploy script']),
  expires_at: t.Optional(timestampIn()),
  totp_code: t.Optional({ ...totpCode(), description: 'Required with two-factor authentication on' }),
})

const keyPrefix = () =>
  t.String({ examples: ['ncp_0123456789abcdef'], description: 'The first 20 characters of the key' })

export const CreatedApiKeyModel = t.Object(
  {
    id: idOut(),
    name: t.String({ examples: ['Deploy script'] }),
    key: t.String({
      pattern: '^ncp_[0-9a-f]{64}$',
      examples: [`ncp_${'0123456789abcdef'.repeat(4)}`],
      description: 'The secret, shown this once',
    }),
    key_prefix: keyPrefix(),
    expires_at: nullable(timestampOut()),
    created_at: timestampOut(),
  },
  { additionalProperties: false, title: 'CreatedApiKey' },
)

export const ApiKeyModel = t.Object(
  {
    id: idOut(),
    name: t.String({ examples: ['Deploy script'] }),
    key_prefix: keyPrefix(),
    last_used_at: nullable(timestampOut()),
    expires_at: nullable(timestampOut()),
    created_at: timestampOut(),
  },
  { additionalProperties: false, title: 'ApiKey' },
)

export function toCreatedApiKey({ row, key }: { row: ApiKey; key: string }) {
  return {
    id: row.id,
    name: row.name,
    key,
    key_prefix: row.keyPrefix,
    expires_at: timeOrNull(row.expiresAt),
    created_at: formatTimestamp(row.createdAt),
  }
}

export function toApiKey(row: ApiKey) {
  return {
    id: row.id,
    name: row.name,
    key_prefix: row.keyPrefix,
    last_used_at: timeOrNull(row.lastUsedAt),
    expires_at: timeOrNull(row.expiresAt),
    created_at: formatTimestamp(row.createdAt),
  }
}

function timeOrNull(ms: number | null): string | null {
  return ms === null ? null : formatTimestamp(ms)
}
