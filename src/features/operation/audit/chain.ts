/** The hash chain: each entry holds a hash of itself and the previous entry, so none can be changed or removed. */
import { sha256 } from '../../../crypto/secret.ts'
import type { auditLog } from '../../../db/tables.ts'

export type AuditEntry = typeof auditLog.$inferSelect

/** An entry's id and hash. */
export type Link = { id: number; hash: string }

/** What the first entry of an installation follows. */
export const GENESIS_HASH = '0'.repeat(64)

/**
 * SHA-256, in hex, of the JSON array of the previous hash and the entry's columns in the order below: simple enough to
 * check with the database and any other program.
 *
 * @param previousHash of the entry with the previous id, or `GENESIS_HASH`
 */
export function hashEntry(previousHash: string, entry: Omit<AuditEntry, 'hash'>): string {
  return sha256(
    JSON.stringify([
      previousHash,
      entry.id,
      entry.createdAt,
      entry.actorId,
      entry.credentialKind,
      entry.credentialId,
      entry.address,
      entry.requestId,
      entry.action,
      entry.accountId,
      entry.targetType,
      entry.targetId,
      entry.result,
      entry.reason,
      entry.times,
      entry.details,
    ]),
  )
}
