/** Whether a database has the schema that the migrations make, no object less, more or other. */
import { Database } from 'bun:sqlite'
import { printable } from '../../core/printable.ts'
import { migrations } from './migrations.ts'

type SchemaObject = { type: string; name: string; sql: string | null }

/** Of a name of somebody else's, as far as it is shown, in characters. */
const MAX_NAME_LENGTH = 64

/** What SQLite and the migrations keep for themselves. */
const OBJECTS =
  "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name <> 'schema_migrations' ORDER BY name"

/**
 * A table that is missing or a trigger that somebody planted is no damage to SQLite, and changes what the panel does.
 *
 * @param path of a database file
 * @param applied how many of the migrations have been applied to it
 * @returns a sentence for each object that differs; none for a schema that is the panel's
 * @throws Error for a file that is no database
 */
export function schemaProblems(path: string, applied: number): string[] {
  const expected = new Map(objectsAfter(applied).map((object) => [object.name, object]))
  const database = new Database(path, { readonly: true })
  try {
    const found = new Map(objectsOf(database).map((object) => [object.name, object]))
    const missing = [...expected.values()].filter(({ name }) => !found.has(name))
    const foreign = [...found.values()].filter(({ name }) => !expected.has(name))
    const changed = [...found.values()].filter(({ name, sql }) => expected.has(name) && expected.get(name)?.sql !== sql)
    return [
      ...missing.map(({ type, name }) => `${type} ${name} is missing`),
      ...foreign.map(
        ({ type, name }) => `${type} ${printable(name.slice(0, MAX_NAME_LENGTH))} is not one of the panel's`,
      ),
      ...changed.map(({ type, name }) => `${type} ${name} differs from the schema of this version`),
    ]
  } finally {
    database.close()
  }
}

/**
 * Of these, what bears on the audit log: its tables and indexes, and every trigger of whatever table, since one that somebody
 * planted can swallow entries.
 */
export function auditSchemaProblems(path: string): string[] {
  return schemaProblems(path, migrations.length).filter((problem) => /^(trigger |\w+ audit_)/.test(problem))
}

function objectsAfter(applied: number): SchemaObject[] {
  const database = new Database(':memory:')
  try {
    for (const { sql } of migrations.slice(0, applied)) database.run(sql)
    return objectsOf(database)
  } finally {
    database.close()
  }
}

function objectsOf(database: Database): SchemaObject[] {
  return database.query<SchemaObject, []>(OBJECTS).all()
}
