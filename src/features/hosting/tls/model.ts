/** The schema of `tls` in a site. */
import { t } from 'elysia'
import { formatTimestamp } from '../../../core/timestamp.ts'
import { choice, nullable, timestampOut } from '../../../http/schema.ts'
import { NAME_STATES, type SiteTls, TLS_STATES } from './state.ts'

export const TlsModel = t.Object(
  {
    state: choice(TLS_STATES, 'Of all names; `partial` where only some have a certificate'),
    reason: nullable(t.String({ description: 'Why no site gets a certificate on this server' })),
    names: t.Array(
      t.Object(
        {
          name: t.String({ examples: ['www.example.com'] }),
          state: choice(
            NAME_STATES,
            '`unverified`: it does not lead to this server; `failed`: the certificate authority refused it',
          ),
          reason: nullable(
            t.String({ examples: ['www.example.com leads to 192.0.2.9, where another server answers'] }),
          ),
          retry_at: nullable(timestampOut()),
        },
        { additionalProperties: false },
      ),
    ),
    not_after: nullable(timestampOut()),
    issuer: nullable(t.String({ examples: ["Let's Encrypt"] })),
  },
  {
    additionalProperties: false,
    description:
      'The certificates of its names; no names where the server serves no HTTPS. `not_after` is of the one that expires first',
  },
)

export function toTls({ state, reason, names, notAfter, issuer }: SiteTls) {
  return {
    state,
    reason,
    names: names.map(({ retryAt, ...same }) => ({ ...same, retry_at: orNull(retryAt) })),
    not_after: orNull(notAfter),
    issuer,
  }
}

const orNull = (at: number | null) => (at === null ? null : formatTimestamp(at))
