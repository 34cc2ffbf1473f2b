/** Every SQL statement that the process prepares, for tests that ask SQLite how it would run them. */
import { Database } from 'bun:sqlite'
import { join } from 'node:path'

export type Recording = {
  /** The statements since the recording began, each once. */
  readonly statements: ReadonlySet<string>
  stop(): void
}

/** Begins to record. Start it before the panel: what is prepared once is seen once. */
export function recordStatements(): Recording {
  const statements = new Set<string>()
  const original = Database.prototype.prepare
  Database.prototype.prepare = function prepare(this: Database, sql: string, ...rest: never[]) {
    statements.add(sql)
    return original.call(this, sql, ...rest)
  } as typeof original
  return {
    statements,
    stop() {
      Database.prototype.prepare = original
    },
  }
}

export type Plan = { sql: string; steps: string[] }

/** What SQLite would do for each of the statements that read or write rows. */
export function plansOf(statements: Iterable<string>, { data }: { data: string }): Plan[] {
  using database = new Database(join(data, 'ncp.db'), { readonly: true })
  return [...statements]
    .filter((sql) => /^\s*(select|insert|update|delete|with)\b/i.test(sql))
    .map((sql) => ({
      sql,
      steps: database
        .query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`)
        .all()
        .map(({ detail }) => detail),
    }))
}
