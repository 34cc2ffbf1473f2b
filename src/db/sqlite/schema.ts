/** Whether a database has exactly the schema that the migrations create: nothing missing, added or changed. */
import { Database } from 'bun:sqlite'
import { printable } from '../../core/printable.ts'
import { migrations } from './migrations.ts'

type SchemaObject = { type: string; name: string; sql: string | null }

/** How much of a foreign object's name is shown, in characters. */
const MAX_NAME_LENGTH = 64

/** Leaves out what SQLite and the migrations keep for themselves. */
const OBJECTS =
  "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name <> 'schema_migrations' ORDER BY name"

/**
 * SQLite sees no damage in a missing table or a planted trigger, but both change what the panel does.
 *
 * @param path of a database file
 * @param applied how many migrations have been applied to it
 * @returns a sentence for each object that differs; empty if the schema is the panel's
 * @throws Error if the file is not a database
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
 * Only the problems that concern the audit log: its tables and indexes, and triggers on any table, since a planted one
 * can swallow entries.
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
