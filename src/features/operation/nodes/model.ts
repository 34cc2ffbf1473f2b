/** The schemas of `/admin/nodes` and of what a node does with its token. */
import { t } from 'elysia'
import { formatTimestamp } from '../../../core/timestamp.ts'
import { idOut, integerOut, nullable, text, timestampOut } from '../../../http/schema.ts'
import type { Node } from './nodes.ts'
import { readCapabilities, readStatus } from './said.ts'

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
      description: 'How many subscriptions it serves',
    }),
    created_at: timestampOut(),
    last_seen_at: nullable(timestampOut()),
    version: nullable(
      t.String({ examples: ['1.4.0'], description: 'Of the program that it runs; null before it connects' }),
    ),
    php_versions: t.Array(t.String({ examples: ['8.4'] }), { description: 'The newest first' }),
    clock_ahead_ms: nullable(
      t.Unsafe<number>({
        type: 'integer',
        examples: [120],
        description: "How far its clock is ahead of the panel's; negative if it is behind",
      }),
    ),
    held: nullable(
      t.Object(
        { code: t.String({ examples: ['new_epoch'] }), message: t.String() },
        {
          additionalProperties: false,
          description: 'Why it does nothing of what it is told, until its operator accepts it',
        },
      ),
    ),
    orphans: t.Array(idOut(), {
      description: 'Sites with files on it that the panel does not know: kept, and not served',
    }),
    drained_at: { ...nullable(timestampOut()), description: 'Since when it gets no new subscriptions' },
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

export function toNode(node: Node) {
  const { id, name, subscriptions, createdAt, lastSeenAt, drainedAt } = node
  const { held, orphans } = readStatus(node.status)
  return {
    id,
    name,
    subscriptions,
    created_at: formatTimestamp(createdAt),
    last_seen_at: lastSeenAt === null ? null : formatTimestamp(lastSeenAt),
    version: node.version,
    php_versions: readCapabilities(node.capabilities).phpVersions,
    clock_ahead_ms: node.clockAheadMs,
    held,
    orphans,
    drained_at: drainedAt === null ? null : formatTimestamp(drainedAt),
  }
}
