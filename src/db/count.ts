/** Counts rows up to a bound, since counting all of them takes longer with every row. */
import { type SQLWrapper, sql } from 'drizzle-orm'
import { rowsOf } from './statements.ts'
import type { Queries } from './store.ts'

/**
 * @param rows a one-column query that an index can answer
 * @param bound where counting stops
 */
export async function countUpTo(
  queries: Queries,
  rows: { limit(count: number): SQLWrapper },
  bound: number,
): Promise<number> {
  const [counted] = await rowsOf<{ n: number }>(queries, sql`SELECT count(*) AS n FROM ${rows.limit(bound)}`)
  return counted?.n ?? 0
}
