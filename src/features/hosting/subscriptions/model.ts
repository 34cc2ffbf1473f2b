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
import { PHP_LIMITS } from '../../../node/php.ts'
import type { PhpLimitColumns, Subscription, SubscriptionChanges, SubscriptionFilter } from './subscriptions.ts'

const MAX_SITES = 1_000_000

const status = (description?: string) => choice(['active', 'suspended'], description)
const maxSites = () => integer({ minimum: 0, maximum: MAX_SITES, example: 10 })
const name = () => label(['Business hosting'])
/** A customer with any subscriptions always has one default: it is moved, never removed. */
const becomeDefault = () =>
  t.Optional(flag('True makes it the default; to take that away, make another one the default'))

const PHP = {
  php_workers: { of: PHP_LIMITS.workers, description: 'Requests that PHP of a site answers at a time; others wait' },
  php_memory_mb: { of: PHP_LIMITS.memoryMb, description: 'The most that `memory_limit` of a site can be, in MiB' },
  php_seconds: { of: PHP_LIMITS.seconds, description: 'How long a request to PHP may take' },
  php_upload_mb: { of: PHP_LIMITS.uploadMb, description: 'The largest file that PHP takes, in MiB' },
} as const

const phpLimit = (name: keyof typeof PHP) => {
  const { of, description } = PHP[name]
  return integer({ minimum: of.minimum, maximum: of.maximum, example: of.default, description })
}

const phpLimits = () => ({
  php_workers: t.Optional(phpLimit('php_workers')),
  php_memory_mb: t.Optional(phpLimit('php_memory_mb')),
  php_seconds: t.Optional(phpLimit('php_seconds')),
  php_upload_mb: t.Optional(phpLimit('php_upload_mb')),
})

const phpLimitOut = (name: keyof typeof PHP) => {
  const { of, description } = PHP[name]
  return integerOut({ minimum: of.minimum, examples: [of.default], description })
}

export const CreateSubscription = closed({
  user_id: idIn([2]),
  name: name(),
  is_default: t.Optional(flag()),
  max_sites: t.Optional(maxSites()),
  ...phpLimits(),
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
  ...phpLimits(),
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
    php_workers: phpLimitOut('php_workers'),
    php_memory_mb: phpLimitOut('php_memory_mb'),
    php_seconds: phpLimitOut('php_seconds'),
    php_upload_mb: phpLimitOut('php_upload_mb'),
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
    php_workers: row.phpWorkers,
    php_memory_mb: row.phpMemoryMb,
    php_seconds: row.phpSeconds,
    php_upload_mb: row.phpUploadMb,
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
  const { user_id: userId, max_sites: maxSites, is_default: isDefault, name, status } = body
  return {
    ...(name !== undefined && { name }),
    ...(status !== undefined && { status }),
    ...toPhpLimits(body),
    ...(userId !== undefined && { userId }),
    ...(maxSites !== undefined && { maxSites }),
    ...(isDefault !== undefined && { isDefault }),
  }
}

type GivenPhpLimits = { [Name in keyof typeof PHP]?: number }

/** Those that are given. */
export function toPhpLimits(body: GivenPhpLimits): PhpLimitColumns {
  const { php_workers, php_memory_mb, php_seconds, php_upload_mb } = body
  return {
    ...(php_workers !== undefined && { phpWorkers: php_workers }),
    ...(php_memory_mb !== undefined && { phpMemoryMb: php_memory_mb }),
    ...(php_seconds !== undefined && { phpSeconds: php_seconds }),
    ...(php_upload_mb !== undefined && { phpUploadMb: php_upload_mb }),
  }
}
