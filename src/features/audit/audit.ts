/** The audit log: who did what, when and from where; written in the transaction of what it tells, and read in pages. */
import { and, desc, eq, gte, isNull, lt, or } from 'drizzle-orm'
import type { AuditedActor } from '../../core/actor.ts'
import type { Clock } from '../../core/clock.ts'
import { type Page, type PageRequest, pageOf } from '../../core/page.ts'
import { eachGiven, prepared } from '../../db/prepared.ts'
import type { Queries, ReadStore } from '../../db/store.ts'
import { auditHorizon, auditLog } from '../../db/tables.ts'
import { type AuditEntry, GENESIS_HASH, hashEntry } from './chain.ts'
import type { Action, AuditEvent, Details } from './events.ts'

export type { AuditEntry }

/** How it ended: done, tried in vain (a wrong password), or not even begun (no right to it). */
export type Outcome = { result: AuditEntry['result']; reason: string | null; times: number }

/**
 * Writes down what the transaction does. A mutation and its entry are there together or not at all.
 *
 * @param outcome of something that failed; a success, once, when absent
 */
export type RecordAudit = (tx: Queries, actor: AuditedActor, event: AuditEvent, outcome?: Outcome) => Promise<void>

export type AuditFilter = {
  /** Entries of this account: what its user did, and what others did to it. */
  userId?: number
  /** Of those, not what the user did to other accounts: as an administrator, which may be over. */
  ownAccount?: boolean
  action?: Action
  /** Milliseconds since the epoch: from this time on. */
  from?: number
  /** Milliseconds since the epoch: before this time. */
  to?: number
}

export type Audit = ReturnType<typeof createAudit>

const addEntry = prepared((tx) => tx.insert(auditLog).values(eachGiven(auditLog)).prepare())
const findNewest = prepared((tx) =>
  tx.select({ id: auditLog.id, hash: auditLog.hash }).from(auditLog).orderBy(desc(auditLog.id)).limit(1).prepare(),
)

const SUCCESS: Outcome = { result: 'success', reason: null, times: 1 }

export function createAudit({ store, clock }: { store: ReadStore; clock: Clock }) {
  const record: RecordAudit = async (tx, actor, { action, accountId, target, details = {} }, outcome = SUCCESS) => {
    // Nobody comes between the read and the insert: there is one writing transaction at a time, over all processes.
    const last = await newest(tx)
    const entry = {
      id: last.id + 1,
      createdAt: clock.now(),
      ...describe(actor),
      action,
      accountId,
      targetType: target?.type ?? null,
      targetId: target?.id ?? null,
      ...outcome,
      details: JSON.stringify(wireNames(details)),
    }
    await addEntry(tx).run({ ...entry, hash: hashEntry(last.hash, entry) })
  }

  return {
    record,

    /** The newest first. */
    async list(
      page: PageRequest,
      { userId, ownAccount = false, action, from, to }: AuditFilter = {},
    ): Promise<Page<AuditEntry>> {
      const rows = await store.read
        .select()
        .from(auditLog)
        .where(
          and(
            page.afterId === 0 ? undefined : lt(auditLog.id, page.afterId),
            userId === undefined
              ? undefined
              : or(
                  eq(auditLog.accountId, userId),
                  and(eq(auditLog.actorId, userId), ownAccount ? isNull(auditLog.accountId) : undefined),
                ),
            action === undefined ? undefined : eq(auditLog.action, action),
            from === undefined ? undefined : gte(auditLog.createdAt, from),
            to === undefined ? undefined : lt(auditLog.createdAt, to),
          ),
        )
        .orderBy(desc(auditLog.id))
        .limit(page.limit + 1)
      return pageOf(rows, page)
    },
  }
}

/** `maxSites` is `max_sites` everywhere outside. */
function wireNames(details: Details): Details {
  const snakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return Object.fromEntries(Object.entries(details).map(([name, value]) => [snakeCase(name), value]))
}

/** The last entry, or what stands for it where there is none. */
async function newest(tx: Queries): Promise<{ id: number; hash: string }> {
  const [entry] = await findNewest(tx).all()
  return entry ?? (await horizonOf(tx))
}

/** The last entry that was deleted for its age; before any was, the beginning of the chain. */
export async function horizonOf(queries: Queries): Promise<{ id: number; hash: string }> {
  const [horizon] = await queries.select({ id: auditHorizon.entryId, hash: auditHorizon.hash }).from(auditHorizon)
  return horizon ?? { id: 0, hash: GENESIS_HASH }
}

function describe(actor: AuditedActor) {
  if (actor.kind === 'operator' || actor.kind === 'panel') {
    return { actorId: null, credentialKind: actor.kind, credentialId: null, address: null, requestId: null }
  }
  const { address, requestId } = actor.origin
  if (actor.kind === 'stranger') {
    return { actorId: null, credentialKind: 'none' as const, credentialId: null, address, requestId }
  }
  const { userId, credential } = actor
  const credentialId = credential.kind === 'jwt' ? credential.sessionId : credential.keyId
  return { actorId: userId, credentialKind: credential.kind, credentialId, address, requestId }
}
