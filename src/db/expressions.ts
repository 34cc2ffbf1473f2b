/** Conditions that Drizzle does not offer and that each engine writes differently. */
import { type AnyColumn, type SQL, sql } from 'drizzle-orm'
import { getTableConfig, type SQLiteTable } from 'drizzle-orm/sqlite-core'

/** Whether a column contains a text literally, without wildcards. */
export function contains(column: AnyColumn, text: string | SQL): SQL {
  return sql`instr(${column}, ${text}) > 0`
}

/** The same, ignoring the case of A to Z; SQLite folds no other letters. */
export function containsIgnoringCase(column: AnyColumn, text: string): SQL {
  return sql`instr(lower(${column}), lower(${text})) > 0`
}

/** Whether a flag is set, written as in a partial index: only then does SQLite use that index. */
export function isSet(flag: AnyColumn): SQL {
  return sql`${flag} = 1`
}

/**
 * A table to be read through one of its indexes: SQLite, which keeps no statistics here, might choose one that makes it
 * look at far more rows.
 *
 * @throws Error if the table has no index of that name
 */
export function throughIndex(table: SQLiteTable, index: string): SQL {
  if (!getTableConfig(table).indexes.some(({ config }) => config.name === index)) throw new Error(`no index ${index}`)
  return sql`${table} INDEXED BY ${sql.identifier(index)}`
}
