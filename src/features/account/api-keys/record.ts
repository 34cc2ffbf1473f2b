/** What the audit log records about an API key. */
import type { Actor } from '../../../core/actor.ts'
import type { Details } from '../../../core/details.ts'
import { formatTimestamp } from '../../../core/timestamp.ts'
import type { Queries } from '../../../db/store.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { ApiKey } from './rows.ts'

type Action = 'api_key.create' | 'api_key.change' | 'api_key.rotate' | 'api_key.delete'

/** Writes an entry that names the key. @param details besides its name and prefix */
export type RecordApiKey = (tx: Queries, actor: Actor, action: Action, key: ApiKey, details?: Details) => Promise<void>

export function createRecord(audit: RecordAudit): RecordApiKey {
  return async (tx, actor, action, { id, userId, name, keyPrefix }, details = {}) => {
    const target = { type: 'api_key' as const, id }
    await audit(tx, actor, { action, accountId: userId, target, details: { name, keyPrefix, ...details } })
  }
}

export function timeOrNull(ms: number | null): string | null {
  return ms === null ? null : formatTimestamp(ms)
}
