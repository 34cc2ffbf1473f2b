/** Finds a text within a column, as it is: no character of it is a wildcard. */
import { type AnyColumn, type SQL, sql } from 'drizzle-orm'

export function contains(column: AnyColumn, text: string | SQL): SQL {
  return sql`instr(${column}, ${text}) > 0`
}

/** The same, with A to Z and a to z alike; SQLite folds no other letters. */
export function containsIgnoringCase(column: AnyColumn, text: string): SQL {
  return sql`instr(lower(${column}), lower(${text})) > 0`
}
