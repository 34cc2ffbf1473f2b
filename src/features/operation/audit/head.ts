/** The head of the audit log: a second record of its newest entry, which shows when the end is cut off. */
import { and, eq } from 'drizzle-orm'
import { given, prepare } from '../../../db/statements.ts'
import type { Queries } from '../../../db/store.ts'
import { auditHead } from '../../../db/tables.ts'
import type { Link } from './chain.ts'

const findHead = prepare((queries) => queries.select({ id: auditHead.entryId, hash: auditHead.hash }).from(auditHead))
const goForward = prepare((tx) =>
  tx
    .update(auditHead)
    .set({ entryId: given('id'), hash: given('hash') })
    .where(and(eq(auditHead.entryId, given('lastId')), eq(auditHead.hash, given('lastHash')))),
)

/** @returns id 0 before the first entry; undefined if the row was deleted */
export async function headOf(queries: Queries): Promise<Link | undefined> {
  return findHead.first(queries)
}

/**
 * Runs in the transaction that adds an entry. A head that is not at the previous entry stays where it is, and keeps
 * showing that something was cut off, however many entries follow.
 */
export async function moveHead(tx: Queries, from: Link, to: Link): Promise<void> {
  await goForward.run(tx, { id: to.id, hash: to.hash, lastId: from.id, lastHash: from.hash })
}
