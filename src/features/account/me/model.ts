/** The schema of `/auth/me`. */
import { t } from 'elysia'
import type { Credential } from '../../../core/principal.ts'
import { SCOPES, type Scope } from '../../../core/scope.ts'
import { formatTimestamp } from '../../../core/timestamp.ts'
import { choice, idOut, integerOut, nullable, timestampOut } from '../../../http/schema.ts'
import type { ApiKey } from '../api-keys/rows.ts'
import { UserModel } from '../model.ts'

export const MeModel = t.Object(
  {
    user: UserModel,
    two_factor_enabled: t.Boolean({ description: 'Whether a login of the user takes a code' }),
    credential: t.Object(
      {
        kind: choice(['jwt', 'api_key']),
        id: idOut(),
        name: nullable(t.String({ examples: ['Deploy script'], description: 'Of an API key' })),
        scopes: nullable(t.Array(choice(SCOPES), { description: 'Null: all that the user may do' })),
        allowed_cidrs: nullable(
          t.Array(t.String({ examples: ['203.0.113.0/24'] }), { description: 'Null: everywhere' }),
        ),
        subscription_id: nullable({ ...idOut(), description: 'Null: all subscriptions of the user' }),
        sites: nullable(t.Array(idOut(), { description: 'Null: all sites of those' })),
        expires_at: nullable(timestampOut()),
        can_rotate: t.Boolean({
          description: 'Whether the current settings let it rotate itself at `POST /auth/api-keys/self/rotate`',
        }),
        renewable_until: nullable({ ...timestampOut(), description: 'When that right ends; null without it' }),
      },
      { additionalProperties: false },
    ),
    rate_limit: t.Object(
      {
        limit: integerOut({
          minimum: 1,
          examples: [120],
          description: 'Requests a minute, over all credentials of the user',
        }),
        remaining: integerOut({ minimum: 0, examples: [119] }),
        reset_at: timestampOut(),
      },
      { additionalProperties: false },
    ),
  },
  { additionalProperties: false, title: 'Me' },
)

/** @param key the stored API key; undefined for a JWT */
export function toCredential(credential: Credential, key: ApiKey | undefined) {
  return {
    kind: credential.kind,
    id: credential.kind === 'jwt' ? credential.sessionId : credential.keyId,
    name: key?.name ?? null,
    scopes: (key?.scopes ? JSON.parse(key.scopes) : null) as Scope[] | null,
    allowed_cidrs: (key?.allowedCidrs ? JSON.parse(key.allowedCidrs) : null) as string[] | null,
    subscription_id: key?.subscriptionId ?? null,
    sites: (key?.sites ? JSON.parse(key.sites) : null) as number[] | null,
    expires_at: credential.expiresAt === null ? null : formatTimestamp(credential.expiresAt),
    can_rotate: credential.kind === 'api_key' && credential.renewableUntil !== undefined,
    renewable_until: key?.renewableUntil ? formatTimestamp(key.renewableUntil) : null,
  }
}

/** @param headers of the response, in which the gate has put the remaining limit */
export function toRateLimit(headers: Headers) {
  const read = (name: string) => Number(headers.get(`x-ratelimit-${name}`))
  return {
    limit: read('limit'),
    remaining: read('remaining'),
    reset_at: formatTimestamp(read('reset') * 1000),
  }
}
