/** The schemas of `/admin/nodes` and of what a node does with its token. */
import { t } from 'elysia'
import { formatTimestamp } from '../../../core/timestamp.ts'
import { idOut, integerOut, nullable, text, timestampOut } from '../../../http/schema.ts'
import type { Node } from './nodes.ts'

/** The grammar of a host name's label (RFC 1123 §2.1). */
const NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

export const NodeName = text({
  maxLength: 63,
  examples: ['web-1'],
  rule: 'must be 1 to 63 lower-case letters, digits and hyphens, with no hyphen at either end',
  obeys: (value) => NAME.test(value),
})

export const NodeModel = t.Object(
  {
    id: idOut(),
    name: t.String({ examples: ['web-1'] }),
    subscriptions: integerOut({
      minimum: 0,
      examples: [12],
      description: 'How many subscriptions it serves, or has yet to remove',
    }),
    created_at: timestampOut(),
    last_seen_at: nullable(timestampOut()),
  },
  { additionalProperties: false, title: 'Node' },
)

export const NodeTokenModel = t.Object(
  {
    token: t.String({ examples: [`ncpn_${'0123456789abcdef'.repeat(4)}`] }),
    previous_valid_until: timestampOut(),
  },
  { additionalProperties: false, title: 'NodeToken' },
)

export function toNode({ id, name, subscriptions, createdAt, lastSeenAt }: Node) {
  return {
    id,
    name,
    subscriptions,
    created_at: formatTimestamp(createdAt),
    last_seen_at: lastSeenAt === null ? null : formatTimestamp(lastSeenAt),
  }
}
