/** Runs the statements that Drizzle's builders describe, so that nothing above knows how an engine runs them. */
import { getTableColumns, type SQL, sql } from 'drizzle-orm'
import type { SQLiteTable } from 'drizzle-orm/sqlite-core'
import type { Awaitable } from '../core/awaitable.ts'
import type { Queries } from './store.ts'

/** Values by the name of their placeholder. */
type Values = Record<string, unknown>

/** Synchronous on SQLite. */
type Prepared = {
  all(values?: Values): unknown[]
  get(values?: Values): unknown
  run(values?: Values): unknown
}

/** A Drizzle query that can be run. */
type Builder = PromiseLike<unknown> & { prepare(): object }

type RowOf<B> = Awaited<B> extends (infer Row)[] ? Row : never

/** A statement that runs on any connection or transaction. */
export type Statement<Row> = {
  /** The first row, if there is one. */
  first(queries: Queries, values?: Values): Awaitable<Row | undefined>
  /** The row of a statement that always has one. @throws Error without a row */
  one(queries: Queries, values?: Values): Awaitable<Row>
  all(queries: Queries, values?: Values): Awaitable<Row[]>
  run(queries: Queries, values?: Values): Awaitable<void>
}

/**
 * Prepares a statement once per connection: building one takes ten times as long as running it.
 *
 * @param build uses a placeholder for whatever varies between uses: see `given`
 */
export function prepare<B extends Builder>(build: (queries: Queries) => B): Statement<RowOf<B>> {
  type Row = RowOf<B>
  const statements = new WeakMap<Queries, Prepared>()

  function on(queries: Queries): Prepared {
    const known = statements.get(queries)
    if (known !== undefined) return known
    const statement = build(queries).prepare() as Prepared
    statements.set(queries, statement)
    return statement
  }

  return {
    first: (queries, values) => on(queries).get(values) as Row | undefined,
    one: (queries, values) => requireRow(on(queries).get(values) as Row | undefined),
    all: (queries, values) => on(queries).all(values) as Row[],
    run: (queries, values) => void on(queries).run(values),
  }
}

/** The row of a query that always has one, such as an insertion that returns it. @throws Error without a row */
export async function one<Row>(query: PromiseLike<Row[]>): Promise<Row> {
  return requireRow((await query)[0])
}

function requireRow<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new Error('a statement that always returns a row returned none')
  return row
}

/** The rows of a statement in SQL that every engine must understand. */
export async function rowsOf<Row>(queries: Queries, statement: SQL): Promise<Row[]> {
  return queries.all<Row>(statement)
}

/** A value supplied when the statement runs, for places where Drizzle's types want an expression. */
export function given(name: string): SQL {
  return sql`${sql.placeholder(name)}`
}

/** A whole row of placeholders, named after the columns. */
export function eachGiven<Table extends SQLiteTable>(table: Table) {
  const names = Object.keys(getTableColumns(table))
  return Object.fromEntries(names.map((name) => [name, given(name)])) as Record<keyof Table['$inferInsert'], SQL>
}
