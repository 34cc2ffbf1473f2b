/** Windows of rows by id, for filters without an index: a search looks at a bounded number of rows at a time. */
import { and, asc, gt, lte, type SQL } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import type { Piece } from './page-reader.ts'
import type { Queries } from './store.ts'

/** Rows that one statement looks at: about two milliseconds. */
const WINDOW_ROWS = 2000

/**
 * Reads the matching rows in a window of a table.
 *
 * @param read returns the rows that meet a condition on the ids and a filter, in order of id, up to a limit
 */
export async function searchWindow<Row extends { id: number }>(
  queries: Queries,
  table: SQLiteTable & { id: SQLiteColumn },
  { afterId, wanted }: { afterId: number; wanted: number },
  read: (within: SQL | undefined, wanted: number) => Promise<Row[]>,
): Promise<Piece<Row>> {
  const [last] = await queries
    .select({ id: table.id })
    .from(table)
    .where(gt(table.id, afterId))
    .orderBy(asc(table.id))
    .limit(1)
    .offset(WINDOW_ROWS - 1)
  const end = last?.id as number | undefined
  const rows = await read(and(gt(table.id, afterId), end === undefined ? undefined : lte(table.id, end)), wanted)
  return { rows, next: rows.length < wanted ? end : rows.at(-1)?.id }
}
