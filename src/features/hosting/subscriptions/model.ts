/** The schemas of `/subscriptions` and `/admin/subscriptions`. */
import { t } from 'elysia'
import { formatTimestamp } from '../../../core/timestamp.ts'
import {
  choice,
  closed,
  flag,
  idIn,
  idOut,
  integer,
  integerOut,
  integerText,
  label,
  nullable,
  nullableIn,
  timestampOut,
  toInteger,
} from '../../../http/schema.ts'
import type { Subscription, SubscriptionChanges, SubscriptionFilter } from './subscriptions.ts'

const MAX_SITES = 1_000_000

const status = (description?: string) => choice(['active', 'suspended'], description)
const maxSites = () => integer({ minimum: 0, maximum: MAX_SITES, example: 10 })
const name = () => label(['Business hosting'])
/** A customer with any subscriptions always has one default: it is moved, never removed. */
const becomeDefault = () =>
  t.Optional(flag('True makes it the default; to take that away, make another one the default'))

export const CreateSubscription = closed({
  user_id: idIn([2]),
  name: name(),
  is_default: t.Optional(flag()),
  max_sites: t.Optional(maxSites()),
  node_id: t.Optional(
    nullableIn(idIn([1]), {
      examples: [1],
      description:
        'The node that serves its sites, null for the panel itself; absent: the node with the fewest subscriptions of those that take new ones, or the panel where there is none',
    }),
  ),
})
export const ChangeSubscription = closed({
  user_id: t.Optional(idIn([2])),
  name: t.Optional(name()),
  status: t.Optional(status()),
  max_sites: t.Optional(maxSites()),
  is_default: becomeDefault(),
})
export const ChangeOwnSubscription = closed({ is_default: becomeDefault() })
export const subscriptionFilter = {
  user_id: t.Optional(integerText({ description: 'Only the subscriptions of this user' })),
  status: t.Optional(status('Only subscriptions of this status')),
}

export const deletionQuery = {
  delete_sites: t.Optional(
    choice(['true', 'false'], 'Whether to delete the sites too; without it, a subscription with sites is not deleted'),
  ),
}

export const SubscriptionModel = t.Object(
  {
    id: idOut(),
    user_id: idOut(),
    name: t.String({ examples: ['Business hosting'] }),
    status: status(),
    is_default: t.Boolean(),
    max_sites: integerOut({ minimum: 0, examples: [10], description: '0 means no limit' }),
    node_id: nullable(
      integerOut({
        minimum: 1,
        examples: [1],
        description: 'The node that serves its sites; null for the panel itself',
      }),
    ),
    created_at: timestampOut(),
    updated_at: timestampOut(),
  },
  { additionalProperties: false, title: 'Subscription' },
)

export function toSubscription(row: Subscription) {
  return {
    id: row.id,
    user_id: row.userId,
    name: row.name,
    status: row.status,
    is_default: row.isDefault,
    max_sites: row.maxSites,
    node_id: row.nodeId,
    created_at: formatTimestamp(row.createdAt),
    updated_at: formatTimestamp(row.updatedAt),
  }
}

export function toSubscriptionFilter(query: { user_id?: string; status?: Subscription['status'] }): SubscriptionFilter {
  const { user_id: userId, status } = query
  return { ...(userId !== undefined && { userId: toInteger(userId) }), ...(status !== undefined && { status }) }
}

/** From API names to the service's; absent fields stay absent. */
export function toSubscriptionChanges(body: typeof ChangeSubscription.static): SubscriptionChanges {
  const { user_id: userId, max_sites: maxSites, is_default: isDefault, ...same } = body
  return {
    ...same,
    ...(userId !== undefined && { userId }),
    ...(maxSites !== undefined && { maxSites }),
    ...(isDefault !== undefined && { isDefault }),
  }
}
