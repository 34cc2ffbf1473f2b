/** Conditions that Drizzle has no word for, and that each engine says in its own way. */
import { type AnyColumn, type SQL, sql } from 'drizzle-orm'
import { getTableConfig, type SQLiteTable } from 'drizzle-orm/sqlite-core'

/** Whether a text is in a column, as it is: no character of it is a wildcard. */
export function contains(column: AnyColumn, text: string | SQL): SQL {
  return sql`instr(${column}, ${text}) > 0`
}

/** The same, with A to Z and a to z alike; SQLite folds no other letters. */
export function containsIgnoringCase(column: AnyColumn, text: string): SQL {
  return sql`instr(lower(${column}), lower(${text})) > 0`
}

/** Whether a flag is set, as a partial index says it: only then does SQLite take that index. */
export function isSet(flag: AnyColumn): SQL {
  return sql`${flag} = 1`
}

/**
 * A table that is to be read through one of its indexes: SQLite, which keeps no statistics here, may take one that looks at
 * far more rows.
 *
 * @throws Error for a name that none of its indexes has
 */
export function throughIndex(table: SQLiteTable, index: string): SQL {
  if (!getTableConfig(table).indexes.some(({ config }) => config.name === index)) throw new Error(`no index ${index}`)
  return sql`${table} INDEXED BY ${sql.identifier(index)}`
}
