/** The schemas of `/auth/api-keys`: the contract's fields, and the limits of a restricted key. */
import { t } from 'elysia'
import { SCOPES, type Scope } from '../../../core/scope.ts'
import { formatTimestamp, parseTimestamp } from '../../../core/timestamp.ts'
import {
  choice,
  closed,
  flag,
  idIn,
  idOut,
  integer,
  label,
  list,
  nullable,
  nullableIn,
  text,
  timestampIn,
  timestampOut,
  totpCode,
} from '../../../http/schema.ts'
import { normalizeRange } from '../../../limiter/address.ts'
import type { ApiKeyChanges, NewApiKey } from './requests.ts'
import type { ApiKey, CreatedApiKey } from './rows.ts'

const MAX_CIDRS = 100
const MAX_SITES = 100
/** An IPv6 address written in full, and its prefix. */
const CIDR_LENGTH = 49
const GRACE_SECONDS = { minimum: 0, maximum: 7 * 24 * 60 * 60, default: 24 * 60 * 60 }

const name = () => label(['Deploy script'])
/** @param when the cases in which a code is required, if not always */
const freshCode = (when = '') =>
  t.Optional({
    ...totpCode(),
    description: `Where the setting \`require_code_for_api_keys\` is on, required with 2FA on${when}; ignored otherwise`,
  })
const range = () =>
  text({
    maxLength: CIDR_LENGTH,
    examples: ['203.0.113.0/24'],
    rule: 'must be an IPv4 or IPv6 address or CIDR range, such as 203.0.113.0/24',
    obeys: (value) => normalizeRange(value) !== undefined,
  })

/** Null means the same in a request as in a response: a script may send back what it has read. */
const expiry = () =>
  nullableIn(timestampIn(), {
    examples: ['2027-12-31T23:59:59Z'],
    description: 'Null for a key that is valid until it is deleted',
  })

export const CreateApiKey = closed({
  name: name(),
  expires_at: t.Optional(expiry()),
  scopes: t.Optional(
    list(choice(SCOPES), {
      minItems: 1,
      maxItems: SCOPES.length,
      examples: [['sites:read']],
      description: 'What the key may do, never more than its user; absent means all of that',
    }),
  ),
  allowed_cidrs: t.Optional(
    list(range(), {
      minItems: 1,
      maxItems: MAX_CIDRS,
      examples: [['203.0.113.0/24', '2001:db8::/48']],
      description: 'Where the key may be used from; absent means everywhere',
    }),
  ),
  subscription_id: t.Optional({
    ...idIn([1]),
    description: 'The one subscription that the key sees; absent means all',
  }),
  sites: t.Optional(
    list(idIn([1]), {
      minItems: 1,
      maxItems: MAX_SITES,
      examples: [[1]],
      description:
        'The sites that the key sees, and nothing beside them. They must be in one subscription, to which the key is bound too',
    }),
  ),
  can_rotate: t.Optional(
    flag(
      'Whether the key may rotate itself, each time for its original lifetime again. Requires an `expires_at` and the setting `api_key_self_rotation`',
    ),
  ),
  renewable_until: t.Optional({
    ...timestampIn(),
    description: 'When that right ends for good: a year from now when absent, two years at most',
  }),
  totp_code: freshCode(),
})
export const ChangeApiKey = closed({
  name: t.Optional(name()),
  expires_at: t.Optional(expiry()),
  totp_code: freshCode(', for a new expiry'),
})
export const RotateApiKey = closed({
  grace_seconds: t.Optional({
    ...integer({ ...GRACE_SECONDS, example: GRACE_SECONDS.default }),
    description: 'How long the old secret still works; a day when absent',
  }),
  totp_code: freshCode(),
})

const keyPrefix = () =>
  t.String({ examples: ['ncp_0123456789abcdef'], description: 'The first 20 characters of the key' })
const secret = () =>
  t.String({
    pattern: '^ncp_[0-9a-f]{64}$',
    examples: [`ncp_${'0123456789abcdef'.repeat(4)}`],
    description: 'The secret, shown only once',
  })

/** Fields that only some keys have; the contract's plain key has none of them. */
const options = {
  scopes: t.Optional(t.Array(choice(SCOPES), { description: 'Absent: all that its user may do' })),
  allowed_cidrs: t.Optional(
    t.Array(t.String({ examples: ['203.0.113.0/24'] }), { description: 'Absent: it may be used from everywhere' }),
  ),
  subscription_id: t.Optional({ ...idOut(), description: 'Absent: it sees all subscriptions of its user' }),
  sites: t.Optional(t.Array(idOut(), { description: 'Absent: it sees all sites of its subscriptions' })),
  can_rotate: t.Optional(t.Boolean({ description: 'When absent, the key may not rotate itself' })),
  renewable_until: t.Optional({ ...timestampOut(), description: 'Until when it may rotate itself' }),
  previous_key: t.Optional(
    t.Object(
      { key_prefix: keyPrefix(), valid_until: timestampOut() },
      { additionalProperties: false, description: 'The secret before the last rotation, while it still works' },
    ),
  ),
}

export const CreatedApiKeyModel = t.Object(
  {
    id: idOut(),
    name: t.String({ examples: ['Deploy script'] }),
    key: secret(),
    key_prefix: keyPrefix(),
    expires_at: nullable(timestampOut()),
    created_at: timestampOut(),
    ...options,
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
    ...options,
  },
  { additionalProperties: false, title: 'ApiKey' },
)

export function toCreatedApiKey({ row, key }: CreatedApiKey) {
  return {
    id: row.id,
    name: row.name,
    key,
    key_prefix: row.keyPrefix,
    expires_at: timeOrNull(row.expiresAt),
    created_at: formatTimestamp(row.createdAt),
    ...toOptions(row),
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
    ...toOptions(row),
  }
}

function toOptions({ scopes, allowedCidrs, subscriptionId, sites, renewableUntil, ...row }: ApiKey) {
  const { previousKeyPrefix, previousValidUntil } = row
  return {
    ...(scopes !== null && { scopes: JSON.parse(scopes) as Scope[] }),
    ...(allowedCidrs !== null && { allowed_cidrs: JSON.parse(allowedCidrs) as string[] }),
    ...(subscriptionId !== null && { subscription_id: subscriptionId }),
    ...(sites !== null && { sites: JSON.parse(sites) as number[] }),
    ...(renewableUntil !== null && { can_rotate: true, renewable_until: formatTimestamp(renewableUntil) }),
    ...(previousKeyPrefix !== null &&
      previousValidUntil !== null && {
        previous_key: { key_prefix: previousKeyPrefix, valid_until: formatTimestamp(previousValidUntil) },
      }),
  }
}

/** From API names to the service's. */
export function toNewApiKey(body: typeof CreateApiKey.static): NewApiKey & { totpCode: string | undefined } {
  const { name, expires_at: expiresAt, scopes, allowed_cidrs: cidrs, subscription_id: subscriptionId } = body
  return {
    name,
    expiresAt: expiresAt == null ? undefined : parseTimestamp(expiresAt),
    scopes,
    allowedCidrs: cidrs && [...new Set(cidrs.map((cidr) => normalizeRange(cidr) ?? cidr))],
    subscriptionId,
    sites: body.sites,
    canRotate: body.can_rotate,
    renewableUntil: body.renewable_until === undefined ? undefined : parseTimestamp(body.renewable_until),
    totpCode: body.totp_code,
  }
}

/** From API names to the service's; absent fields stay absent. */
export function toApiKeyChanges(body: typeof ChangeApiKey.static): ApiKeyChanges & { totpCode: string | undefined } {
  const { name, expires_at: expiresAt, totp_code: totpCode } = body
  return {
    ...(name !== undefined && { name }),
    ...(expiresAt !== undefined && { expiresAt: expiresAt === null ? null : (parseTimestamp(expiresAt) ?? null) }),
    totpCode,
  }
}

export function toRotation({ grace_seconds: graceSeconds, totp_code: totpCode }: typeof RotateApiKey.static) {
  return { graceSeconds: graceSeconds ?? GRACE_SECONDS.default, totpCode }
}

function timeOrNull(ms: number | null): string | null {
  return ms === null ? null : formatTimestamp(ms)
}
