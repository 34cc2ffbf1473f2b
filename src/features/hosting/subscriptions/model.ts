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
import { LIMITS } from '../../../node/limits.ts'
import { PHP_LIMITS } from '../../../node/php.ts'
import type { LimitChanges, Subscription, SubscriptionChanges, SubscriptionFilter } from './subscriptions.ts'

const MAX_SITES = 1_000_000

const status = (description?: string) => choice(['active', 'suspended'], description)
const maxSites = () => integer({ minimum: 0, maximum: MAX_SITES, example: 10 })
const name = () => label(['Business hosting'])
/** A customer with any subscriptions always has one default: it is moved, never removed. */
const becomeDefault = () =>
  t.Optional(flag('True makes it the default; to take that away, make another one the default'))

/** Limits that administrators set: the column, the least and the most, and what it means. */
const FIELDS = {
  php_workers: ['phpWorkers', PHP_LIMITS.workers, 'Requests that PHP of a site answers at a time; others wait'],
  php_memory_mb: ['phpMemoryMb', PHP_LIMITS.memoryMb, 'The most that `memory_limit` of a site can be, in MiB'],
  php_seconds: ['phpSeconds', PHP_LIMITS.seconds, 'How long a request to PHP may take'],
  php_upload_mb: ['phpUploadMb', PHP_LIMITS.uploadMb, 'The largest file that PHP takes, in MiB'],
  max_disk_bytes: [
    'maxDiskBytes',
    LIMITS.maxDiskBytes,
    'Of all files of its sites, with their logs and with deleted sites; 0 means no limit',
  ],
  max_archive_bytes: ['maxArchiveBytes', LIMITS.maxArchiveBytes, 'Of the archive of a deployment'],
  max_unpacked_bytes: ['maxUnpackedBytes', LIMITS.maxUnpackedBytes, 'Of the files of a deployment, unpacked'],
  max_files: ['maxFiles', LIMITS.maxFiles, 'Files, links and folders of a deployment'],
} as const

type FieldName = keyof typeof FIELDS

/** @returns an object with what `make` makes of each limit */
function eachLimit<Value>(make: (name: FieldName) => Value) {
  const names = Object.keys(FIELDS) as FieldName[]
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<FieldName, Value>
}

const limitsIn = eachLimit((name) => {
  const [, { minimum, maximum, default: example }, description] = FIELDS[name]
  return t.Optional(integer({ minimum, maximum, example, description }))
})

const limitsOut = eachLimit((name) => {
  const [, { minimum, default: example }, description] = FIELDS[name]
  return integerOut({ minimum, examples: [example], description })
})

export const CreateSubscription = closed({
  user_id: idIn([2]),
  name: name(),
  is_default: t.Optional(flag()),
  max_sites: t.Optional(maxSites()),
  ...limitsIn,
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
  ...limitsIn,
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
    ...limitsOut,
    limits: t.Object(
      {
        disk: t.Object(
          {
            max_bytes: nullable(integerOut({ minimum: 1, examples: [10_737_418_240], description: 'Null: no limit' })),
            used_bytes: nullable(
              integerOut({
                minimum: 0,
                examples: [1_048_576],
                description: 'Measured every five minutes; null before',
              }),
            ),
            enforced: choice(
              ['kernel', 'measured'],
              'By the file system at every write, or by refusing deployments once it is exceeded',
            ),
          },
          { additionalProperties: false },
        ),
      },
      { additionalProperties: false },
    ),
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
    ...eachLimit((name) => row[FIELDS[name][0]]),
    limits: {
      disk: {
        max_bytes: row.maxDiskBytes === 0 ? null : row.maxDiskBytes,
        used_bytes: row.diskBytes,
        enforced: row.diskEnforced,
      },
    },
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
    ...toLimits(body),
    ...(userId !== undefined && { userId }),
    ...(maxSites !== undefined && { maxSites }),
    ...(isDefault !== undefined && { isDefault }),
  }
}

/** Those that are given. */
export function toLimits(body: { [Name in FieldName]?: number }): LimitChanges {
  const given = Object.entries(FIELDS).map(([name, [column]]) => [column, body[name as FieldName]])
  return Object.fromEntries(given.filter(([, value]) => value !== undefined))
}
