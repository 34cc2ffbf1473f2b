/** Events as responses and streams show them. */
import { t } from 'elysia'
import { formatTimestamp } from '../../../core/timestamp.ts'
import { choice, idOut, integerOut, timestampOut } from '../../../http/schema.ts'
import { EVENT_KINDS, type SiteEvent } from './events.ts'

export const SiteEventModel = t.Object(
  {
    id: idOut(),
    subscription_id: idOut(),
    site_id: idOut(),
    kind: choice(EVENT_KINDS),
    generation: integerOut({ minimum: 1, examples: [2], description: 'Of the site at that time' }),
    details: t.Object({}, { additionalProperties: true, description: 'Details of the event, by name' }),
    created_at: timestampOut(),
  },
  { additionalProperties: false, title: 'SiteEvent' },
)

export function toSiteEvent({ id, subscriptionId, siteId, kind, generation, details, createdAt }: SiteEvent) {
  return {
    id,
    subscription_id: subscriptionId,
    site_id: siteId,
    kind,
    generation,
    details: JSON.parse(details) as object,
    created_at: formatTimestamp(createdAt),
  }
}
