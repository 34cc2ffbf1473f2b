/** Lists the audit log in pages, newest first: every filter is a range of an index, however many entries there are. */
import { and, asc, desc, eq, gte, inArray, lt, type SQL, sql } from 'drizzle-orm'
import type { Page, PageRequest } from '../../../core/page.ts'
import { throughIndex } from '../../../db/expressions.ts'
import { type Piece, readPage } from '../../../db/page-reader.ts'
import { given, prepare } from '../../../db/statements.ts'
import type { Queries, ReadStore } from '../../../db/store.ts'
import { auditClockSteps, auditLog } from '../../../db/tables.ts'
import type { AuditEntry } from './chain.ts'
import type { Action } from './events.ts'

export type AuditFilter = {
  /** Entries about this account: what its user did, and what others did to it. */
  userId?: number
  /** Without what the user did to other accounts as an administrator, which the user may no longer be. */
  ownAccount?: boolean
  action?: Action
  /** Milliseconds since the epoch, inclusive. */
  from?: number
  /** Milliseconds since the epoch, exclusive. */
  to?: number
}

/** Entries by id, from `low` up to but excluding `high`. */
type Range = { low: number; high: number }

/** Greater than any id. */
const NO_ID = Number.MAX_SAFE_INTEGER

const findFirstFrom = prepare((queries) =>
  queries
    .select({ id: auditLog.id, createdAt: auditLog.createdAt })
    .from(auditLog)
    .where(gte(auditLog.id, given('id')))
    .orderBy(asc(auditLog.id))
    .limit(1),
)
const findNewest = prepare((queries) =>
  queries.select({ id: auditLog.id }).from(auditLog).orderBy(desc(auditLog.id)).limit(1),
)
const findStepBefore = prepare((queries) =>
  queries
    .select({ id: auditClockSteps.entryId })
    .from(auditClockSteps)
    .where(lt(auditClockSteps.entryId, given('id')))
    .orderBy(desc(auditClockSteps.entryId))
    .limit(1),
)

/** @returns a page of entries, newest first */
export async function listEntries(
  store: ReadStore,
  page: PageRequest,
  filter: AuditFilter = {},
): Promise<Page<AuditEntry>> {
  const queries = store.read

  return readPage(store, page, async (afterId, wanted) => {
    const high = afterId === 0 ? NO_ID : afterId
    if (filter.from === undefined && filter.to === undefined) {
      const rows = await readRange(queries, { low: 0, high }, filter, wanted)
      return pieceOfRange(rows, wanted, undefined)
    }
    const stretch = await stretchBefore(queries, high)
    if (!stretch) return { rows: [], next: undefined }
    const rows = await readRange(queries, await rangeOfTimes(queries, stretch, filter), filter, wanted)
    return pieceOfRange(rows, wanted, stretch.low > 0 ? stretch.low : undefined)
  })
}

function pieceOfRange(rows: AuditEntry[], wanted: number, next: number | undefined): Piece<AuditEntry> {
  return { rows, next: rows.length < wanted ? next : rows.at(-1)?.id }
}

/** The entries before `high` among which times only grow with ids. */
async function stretchBefore(queries: Queries, high: number): Promise<Range | undefined> {
  const newest = await findNewest.first(queries)
  if (!newest) return undefined
  const end = Math.min(high, newest.id + 1)
  const step = await findStepBefore.first(queries, { id: end })
  return { low: step?.id ?? 0, high: end }
}

/** The part of a stretch between two times. */
async function rangeOfTimes(queries: Queries, stretch: Range, { from, to }: AuditFilter): Promise<Range> {
  return {
    low: from === undefined ? stretch.low : await firstSince(queries, stretch, from),
    high: to === undefined ? stretch.high : await firstSince(queries, stretch, to),
  }
}

/** By bisection. @returns the first id of a stretch at or after this time, or the end of the stretch */
async function firstSince(queries: Queries, { low, high }: Range, time: number): Promise<number> {
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const entry = await findFirstFrom.first(queries, { id: middle })
    if (entry === undefined || entry.id >= high || entry.createdAt >= time) high = middle
    else low = entry.id + 1
  }
  return low
}

async function readRange(queries: Queries, range: Range, filter: AuditFilter, wanted: number): Promise<AuditEntry[]> {
  const { userId, action } = filter
  if (userId === undefined && action === undefined) {
    return queries
      .select()
      .from(auditLog)
      .where(and(lt(auditLog.id, range.high), gte(auditLog.id, range.low)))
      .orderBy(desc(auditLog.id))
      .limit(wanted)
  }
  return queries
    .select()
    .from(auditLog)
    .where(inArray(auditLog.id, sql`(${idsOf(range, filter, wanted)})`))
    .orderBy(desc(auditLog.id))
    .limit(wanted)
}

/** Names each index, lest SQLite choose one without the action and look at all entries of the account. */
function idsOf(range: Range, { userId, ownAccount = false, action }: AuditFilter, wanted: number): SQL {
  const within = and(
    lt(auditLog.id, range.high),
    gte(auditLog.id, range.low),
    action === undefined ? undefined : eq(auditLog.action, action),
  )
  const select = (index: string, condition: SQL) =>
    sql`SELECT ${auditLog.id} FROM ${throughIndex(auditLog, index)} WHERE ${condition} AND ${within}`
  const newestFirst = (ids: SQL, limit: number) => sql`${ids} ORDER BY ${sql.identifier('id')} DESC LIMIT ${limit}`
  if (userId === undefined) return newestFirst(select('audit_log_action', sql`true`), wanted)
  const suffix = action === undefined ? '' : '_action'
  const ofAccount = select(`audit_log_account_id${suffix}`, eq(auditLog.accountId, userId))
  const byActor = eq(auditLog.actorId, userId)
  const ofActor = ownAccount
    ? select(`audit_log_actor_id_alone${suffix}`, sql`${byActor} AND ${auditLog.accountId} IS NULL`)
    : select(`audit_log_actor_id${suffix}`, byActor)
  // Twice as many: what users do to their own accounts is in both.
  return newestFirst(sql`${ofAccount} UNION ALL ${ofActor}`, 2 * wanted)
}
