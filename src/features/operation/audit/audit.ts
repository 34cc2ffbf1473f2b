/** The audit log: who did what, when and from where, written in the transaction that does it and read in pages. */
import { desc, eq } from 'drizzle-orm'
import type { AuditedActor } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import { writeDetails } from '../../../core/details.ts'
import type { PageRequest } from '../../../core/page.ts'
import { eachGiven, given, prepare } from '../../../db/statements.ts'
import type { Queries, ReadStore } from '../../../db/store.ts'
import { auditClockSteps, auditHorizon, auditLog } from '../../../db/tables.ts'
import { createBudget } from './budget.ts'
import { type AuditEntry, GENESIS_HASH, hashEntry } from './chain.ts'
import type { AuditEvent } from './events.ts'
import { moveHead } from './head.ts'
import { type AuditFilter, listEntries } from './list.ts'
import { type Append, countEntry } from './sums.ts'

export type { AuditEntry, AuditFilter }

/** The outcome: done, failed (a wrong password), or refused (not allowed). */
export type Outcome = { result: AuditEntry['result']; reason: string | null; times: number }

/**
 * Records what the transaction does. A mutation and its entry are stored together or not at all.
 *
 * @param outcome of a failure; by default, one success
 */
export type RecordAudit = (tx: Queries, actor: AuditedActor, event: AuditEvent, outcome?: Outcome) => Promise<void>

export type Audit = ReturnType<typeof createAudit>

const addEntry = prepare((tx) => tx.insert(auditLog).values(eachGiven(auditLog)))
const addClockStep = prepare((tx) => tx.insert(auditClockSteps).values(eachGiven(auditClockSteps)))
const findNewest = prepare((tx) =>
  tx
    .select({ id: auditLog.id, hash: auditLog.hash, createdAt: auditLog.createdAt })
    .from(auditLog)
    .orderBy(desc(auditLog.id))
    .limit(1),
)
const findEntry = prepare((tx) =>
  tx
    .select({ hash: auditLog.hash })
    .from(auditLog)
    .where(eq(auditLog.id, given('id'))),
)

const SUCCESS: Outcome = { result: 'success', reason: null, times: 1 }

export function createAudit({ store, clock }: { store: ReadStore; clock: Clock }) {
  const budget = createBudget({ clock })

  const append: Append = async (tx, entry) => {
    // Nothing can come between the read and the insert: only one transaction writes at a time, across all processes.
    const last = await newest(tx)
    const placed = { id: last.id + 1, createdAt: clock.now(), ...entry }
    const hash = hashEntry(last.hash, placed)
    await add(tx, { ...placed, hash })
    await moveHead(tx, last, { id: placed.id, hash })
    if (placed.createdAt < last.createdAt) await addClockStep.run(tx, { entryId: placed.id })
  }

  const record: RecordAudit = async (tx, actor, event, outcome = SUCCESS) => {
    const { action, accountId, target, details = {} } = event
    const entry = {
      ...describe(actor),
      action,
      accountId,
      targetType: target?.type ?? null,
      targetId: target?.id ?? null,
      ...outcome,
      details: writeDetails(details),
    }
    if (accountId === null || outcome !== SUCCESS || budget.take(actor, event, entry.details)) return append(tx, entry)
    return countEntry(tx, { ...entry, accountId }, clock.now())
  }

  return {
    record,
    append,

    /** Newest first. */
    list: (page: PageRequest, filter?: AuditFilter) => listEntries(store, page, filter),
  }
}

/** The last entry, or its substitute when there is none. */
async function newest(tx: Queries): Promise<{ id: number; hash: string; createdAt: number }> {
  const entry = await findNewest.first(tx)
  return entry ?? { ...(await horizonOf(tx)), createdAt: Number.NEGATIVE_INFINITY }
}

/**
 * Adds an entry and checks that it is there.
 *
 * @throws Error if it is not, which rolls back what it records: a foreign trigger in the database can silently
 * swallow an entry
 */
async function add(tx: Queries, entry: AuditEntry): Promise<void> {
  await addEntry.run(tx, entry)
  const found = await findEntry.first(tx, { id: entry.id })
  if (found?.hash !== entry.hash) throw new Error(`audit entry ${entry.id} was not stored: run 'ncp audit verify'`)
}

/** The last entry deleted for its age; before the first deletion, the start of the chain. */
export async function horizonOf(queries: Queries): Promise<{ id: number; hash: string }> {
  const [horizon] = await queries.select({ id: auditHorizon.entryId, hash: auditHorizon.hash }).from(auditHorizon)
  return horizon ?? { id: 0, hash: GENESIS_HASH }
}

function describe(actor: AuditedActor) {
  if (actor.kind === 'operator' || actor.kind === 'panel') {
    return { actorId: null, credentialKind: actor.kind, credentialId: null, address: null, requestId: null }
  }
  const { address, requestId } = actor.origin
  if (actor.kind === 'unauthenticated') {
    return { actorId: null, credentialKind: 'none' as const, credentialId: null, address, requestId }
  }
  if (actor.kind === 'node') {
    return { actorId: null, credentialKind: actor.kind, credentialId: actor.nodeId, address, requestId }
  }
  const { userId, credential } = actor
  const credentialId = credential.kind === 'jwt' ? credential.sessionId : credential.keyId
  return { actorId: userId, credentialKind: credential.kind, credentialId, address, requestId }
}
