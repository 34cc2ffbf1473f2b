/** Verifies the hash chain of the audit log, from its horizon to the last entry. */
import { asc, between, gt } from 'drizzle-orm'
import { countUpTo } from '../../../db/count.ts'
import type { Queries, ReadStore } from '../../../db/store.ts'
import { auditClockSteps, auditHorizon, auditLog } from '../../../db/tables.ts'
import { horizonOf } from './audit.ts'
import { type AuditEntry, hashEntry, type Link } from './chain.ts'
import { headOf } from './head.ts'

export type { Link }

export type Verification =
  | { valid: true; entries: number; head: Link }
  /** `entryId` is the first that cannot be trusted. */
  | { valid: false; entryId: number; reason: string }

const PAGE = 1000

/**
 * The chain alone shows changes and removals only if the rest was not rewritten. Anyone who can write to the database
 * could do that too, and set the head back to where they cut the log off: only a link that was recorded elsewhere
 * shows it.
 *
 * @param anchor a link from an earlier verification, which must still be in the chain
 */
export async function verifyChain(store: Pick<ReadStore, 'read'>, anchor?: Link): Promise<Verification> {
  // First, because a running panel adds entries during the verification.
  const known = await headOf(store.read)
  if (!known) return broken(1, 'no row of audit_head says where the log ends')
  const horizon = await horizonOf(store.read)
  let head: Link = horizon
  let lastPruned: Link = { id: 0, hash: horizon.hash }
  let before = Number.NEGATIVE_INFINITY
  let page: AuditEntry[]
  do {
    page = await store.read
      .select()
      .from(auditLog)
      .where(gt(auditLog.id, head.id))
      .orderBy(asc(auditLog.id))
      .limit(PAGE)
    const steps = await clockStepsAmong(store.read, page)
    for (const entry of page) {
      if (entry.id !== head.id + 1) return broken(head.id + 1, 'it is missing')
      if (entry.hash !== hashEntry(head.hash, entry)) return broken(entry.id, 'it, or the one before, was changed')
      if (entry.id === anchor?.id && entry.hash !== anchor.hash) return broken(entry.id, 'it differs from the anchor')
      if (entry.id === known.id && entry.hash !== known.hash)
        return broken(entry.id, 'it is not the one that audit_head names')
      // If a note is missing or there is one too many, a list by time would omit entries.
      if (steps.has(entry.id) !== entry.createdAt < before) {
        return broken(entry.id, 'the record of the clock being set back before it does not match')
      }
      before = entry.createdAt
      if (entry.action === 'audit.prune') lastPruned = prunedBy(entry)
      head = { id: entry.id, hash: entry.hash }
    }
  } while (page.length > 0)

  if (head.id < known.id) return broken(head.id + 1, 'it is missing, with all later entries')
  const end = await headOf(store.read)
  if (end && end.id < head.id) return broken(end.id + 1, 'audit_head does not know of it')
  // Read again: a running panel may have deleted old entries since.
  const horizons = [horizon, await horizonOf(store.read)]
  if (!horizons.some(({ id, hash }) => id === lastPruned.id && hash === lastPruned.hash)) {
    return broken(horizon.id, 'no entry records its deletion')
  }
  const now = await horizonOf(store.read)
  const [oldest] = await store.read.select({ id: auditLog.id }).from(auditLog).orderBy(asc(auditLog.id)).limit(1)
  if (oldest && oldest.id <= Math.min(horizon.id, now.id))
    return broken(oldest.id, 'it is older than the first entry of the log')
  if ((await countUpTo(store.read, store.read.select({ id: auditHorizon.id }).from(auditHorizon), 2)) > 1) {
    return broken(horizon.id, 'more than one row of audit_horizon says where the log begins')
  }
  if (anchor && anchor.id > head.id) return broken(anchor.id, 'the anchor names it, but it is missing')
  if (anchor && anchor.id <= horizon.id) return broken(anchor.id, 'it is no longer kept; take a newer anchor')
  return { valid: true, entries: head.id - horizon.id, head }
}

/** The entries noted as dated before the previous one. */
async function clockStepsAmong(queries: Queries, page: AuditEntry[]): Promise<Set<number>> {
  const [first, last] = [page[0], page.at(-1)]
  if (!first || !last) return new Set()
  const steps = await queries
    .select({ id: auditClockSteps.entryId })
    .from(auditClockSteps)
    .where(between(auditClockSteps.entryId, first.id, last.id))
  return new Set(steps.map(({ id }) => id))
}

function broken(entryId: number, reason: string): Verification {
  return { valid: false, entryId, reason }
}

function prunedBy({ details }: AuditEntry): Link {
  const { through_id: id, through_hash: hash } = JSON.parse(details)
  return { id, hash }
}
