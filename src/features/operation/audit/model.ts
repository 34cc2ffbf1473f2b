/** The schemas of `/audit-log` and `/admin/audit-log`. */
import { t } from 'elysia'
import { formatTimestamp, parseTimestamp } from '../../../core/timestamp.ts'
import {
  choice,
  idOut,
  integerOut,
  integerText,
  nullable,
  timestampIn,
  timestampOut,
  toInteger,
} from '../../../http/schema.ts'
import type { AuditEntry, AuditFilter } from './audit.ts'
import { ACTIONS } from './events.ts'

const time = (description: string) => t.Optional({ ...timestampIn(), description })

export const ownAuditFilter = {
  action: t.Optional(choice(ACTIONS, 'Only entries of this action')),
  from: time('Only entries from this time on'),
  to: time('Only entries before this time'),
}
export const auditFilter = {
  user_id: t.Optional(integerText({ description: 'Only events that this user caused or that concern this user' })),
  ...ownAuditFilter,
}

export const AuditEntryModel = t.Object(
  {
    id: idOut(),
    created_at: timestampOut(),
    actor_id: nullable(idOut()),
    credential_kind: choice(
      ['jwt', 'api_key', 'node', 'none', 'operator', 'panel'],
      '`node` is a node with its token, `none` a client without a credential, `operator` the command line, `panel` the panel itself',
    ),
    credential_id: nullable(idOut()),
    address: nullable(t.String({ examples: ['203.0.113.7'] })),
    request_id: nullable(t.String({ examples: ['0193a4c5-7b1e-7000-8000-000000000000'] })),
    action: choice(ACTIONS),
    account_id: nullable(idOut()),
    target_type: nullable(t.String({ examples: ['site'] })),
    target_id: nullable(idOut()),
    result: choice(['success', 'failure', 'refused']),
    reason: nullable(
      t.String({ examples: ['invalid credentials'], description: 'The `error` of the response; null for a success' }),
    ),
    times: integerOut({
      minimum: 1,
      examples: [1],
      description: 'Failures and refusals of one kind are summed up, and so is what an account does beyond its budget',
    }),
    details: t.Object({}, { additionalProperties: true, description: 'Details of the action, by name' }),
  },
  { additionalProperties: false, title: 'AuditEntry' },
)

export function toAuditEntry(entry: AuditEntry) {
  return {
    id: entry.id,
    created_at: formatTimestamp(entry.createdAt),
    actor_id: entry.actorId,
    credential_kind: entry.credentialKind,
    credential_id: entry.credentialId,
    address: entry.address,
    request_id: entry.requestId,
    action: entry.action,
    account_id: entry.accountId,
    target_type: entry.targetType,
    target_id: entry.targetId,
    result: entry.result,
    reason: entry.reason,
    times: entry.times,
    details: JSON.parse(entry.details),
  }
}

/** As a customer sees it: where others act from, and with which credential, is private to them. */
export function toOwnAuditEntry(entry: AuditEntry, userId: number) {
  const shown = toAuditEntry(entry)
  const isAnother = entry.actorId !== null && entry.actorId !== userId
  return isAnother ? { ...shown, credential_id: null, address: null, request_id: null } : shown
}

type FilterQuery = { user_id?: string; action?: AuditFilter['action']; from?: string; to?: string }

export function toAuditFilter({ user_id: userId, action, from, to }: FilterQuery): AuditFilter {
  const [fromMs, toMs] = [from, to].map((text) => (text === undefined ? undefined : parseTimestamp(text)))
  return {
    ...(userId !== undefined && { userId: toInteger(userId) }),
    ...(action !== undefined && { action }),
    ...(fromMs !== undefined && { from: fromMs }),
    ...(toMs !== undefined && { to: toMs }),
  }
}
