/** What is stored, for tests that ask whether an attack changed anything. */
import { Database, type SQLQueryBindings } from 'bun:sqlite'
import { join } from 'node:path'
import type { Panel } from './panel.ts'

/** What every request may move, when a credential was last used, and a counter that goes on when its row is restored. */
const MOVING = new Set(['revision', 'last_used_at', 'last_seen_at', 'last_login_at'])

/** What even a refused request may write: the refusal, and the failed attempt. */
const RECORDS = [
  'allowances',
  'strangers',
  'audit_log',
  'audit_head',
  'audit_horizon',
  'audit_sums',
  'audit_clock_steps',
]

/** Every row of every table that holds users' data, without what any request may move. */
export function storedRows({ data }: Pick<Panel, 'data'>, options: { except?: string[] } = {}): StoredRows {
  using database = new Database(join(data, 'ncp.db'), { readonly: true })
  return rowsIn(database, options)
}

type StoredRows = Record<string, unknown[]>

function rowsIn(database: Database, { except = [] }: { except?: string[] } = {}): StoredRows {
  return Object.fromEntries(
    tablesOf(database)
      .filter((name) => ![...RECORDS, ...except].includes(name) && !name.startsWith('sqlite_'))
      .map((name) => [name, database.query(`SELECT * FROM "${name}"`).all().map(withoutMoving)]),
  )
}

function withoutMoving(row: unknown): object {
  return Object.fromEntries(Object.entries(row as object).filter(([column]) => !MOVING.has(column)))
}

const tablesOf = (database: Database) =>
  database
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .all()
    .map(({ name }) => name)

/**
 * Keeps what is stored now, but for the audit log, which never goes back. All of it goes through one connection and
 * statements that are prepared once, for a test that wants it a thousand times.
 */
export function keepRows({ data }: Pick<Panel, 'data'>) {
  const database = new Database(join(data, 'ncp.db'))
  database.run('PRAGMA busy_timeout = 60000')
  database.run('PRAGMA synchronous = OFF')
  const tables = tablesOf(database)
    .filter((name) => !/^sqlite_|^audit_|^schema_migrations$/.test(name))
    .map((name) => {
      const rows = database.query(`SELECT * FROM "${name}"`).values() as SQLQueryBindings[][]
      const places = rows[0]?.map(() => '?').join()
      return {
        empty: database.prepare(`DELETE FROM "${name}"`),
        // A trigger may have made one already.
        insert: places && database.prepare(`INSERT OR REPLACE INTO "${name}" VALUES (${places})`),
        rows,
      }
    })
  return {
    /** Puts back what was stored. */
    restore: database.transaction(() => {
      for (const { empty } of tables) empty.run()
      for (const { insert, rows } of tables) for (const row of rows) if (insert) insert.run(...row)
    }),
    /** As `storedRows`. */
    storedRows: () => rowsIn(database),
    close(): void {
      for (const { empty, insert } of tables) {
        empty.finalize()
        if (insert) insert.finalize()
      }
      database.close()
    },
  }
}

type DataAndClock = Pick<Panel, 'data' | 'clock'>

/** In which one attempt is forgotten. */
const PERIOD_MS = 9 * 60 * 60 * 1000

/** Failed attempts at an account that are not forgotten, at one of its doors or at all of them. */
export function failuresOf({ data, clock }: DataAndClock, userId: number, door?: string): number {
  using database = new Database(join(data, 'ncp.db'), { readonly: true })
  const rows = database
    .query<{ name: string; empty_at: number }, [number]>('SELECT name, empty_at FROM allowances WHERE user_id = ?')
    .all(userId)
  return rows
    .filter(({ name }) => name.startsWith(`door ${door ?? ''}`))
    .reduce((sum, { empty_at }) => sum + Math.max(0, Math.ceil((empty_at - clock.now()) / PERIOD_MS)), 0)
}

/**
 * As if so many guesses had been made just now: making them would take a hash each.
 *
 * @param doors where; at every door that the user has unless stated
 */
export function setFailures({ data, clock }: DataAndClock, userId: number, count: number, doors?: string[]): void {
  using database = new Database(join(data, 'ncp.db'))
  const names = (query: string) => database.query<{ name: string }, [number]>(query).all(userId)
  const all = () => [
    { name: 'strangers' },
    { name: 'reset' },
    ...names("SELECT 'address ' || address_group AS name FROM known_addresses WHERE user_id = ?"),
    ...names("SELECT 'session ' || id AS name FROM sessions WHERE user_id = ?"),
  ]
  const insert = database.query('INSERT OR REPLACE INTO allowances VALUES (?, ?, ?, ?)')
  for (const name of doors ?? all().map(({ name }) => name)) {
    insert.run(userId, `door ${name}`, clock.now() + count * PERIOD_MS, clock.now())
  }
}

type Insert = (table: string, row: Record<string, string | number | null>) => void

/** Fills tables by SQL, past the panel, with more than requests could write in the time of a test. */
export function fill({ data }: Pick<Panel, 'data'>, work: (insert: Insert) => void): void {
  using database = new Database(join(data, 'ncp.db'))
  const insert: Insert = (table, row) => {
    const columns = Object.keys(row)
    database
      .query(`INSERT INTO ${table} (${columns.join()}) VALUES (${columns.map(() => '?').join()})`)
      .run(...Object.values(row))
  }
  database.transaction(() => work(insert))()
}
