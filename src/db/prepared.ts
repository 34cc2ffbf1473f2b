/** Statements that are built once: putting one together takes ten times as long as running it. */
import { getTableColumns, type SQL, sql } from 'drizzle-orm'
import type { SQLiteTable } from 'drizzle-orm/sqlite-core'
import type { Queries } from './store.ts'

/**
 * @param build ends in Drizzle's `prepare()`; what differs from one use to the next is a placeholder
 * @returns the statement of a connection, such as that of all transactions of a store
 */
export function prepared<Statement>(build: (queries: Queries) => Statement): (queries: Queries) => Statement {
  const statements = new WeakMap<Queries, Statement>()
  return (queries) => {
    const known = statements.get(queries)
    if (known !== undefined) return known
    const statement = build(queries)
    statements.set(queries, statement)
    return statement
  }
}

/** A value that is given when the statement is run, where Drizzle's types want an expression. */
export function given(name: string): SQL {
  return sql`${sql.placeholder(name)}`
}

/** A whole row, each value given under the name of its column. */
export function eachGiven<Table extends SQLiteTable>(table: Table) {
  const names = Object.keys(getTableColumns(table))
  return Object.fromEntries(names.map((name) => [name, given(name)])) as Record<keyof Table['$inferInsert'], SQL>
}
