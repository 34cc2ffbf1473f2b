/** What is stored, for tests that ask whether an attack changed anything. */
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import type { Panel } from './panel.ts'

/** What every request may move: when a credential was last used, and how often somebody failed. */
const MOVING = new Set(['last_used_at', 'last_seen_at', 'failed_attempts', 'last_login_at'])

/** What a refused request may write too: that it was refused. */
const RECORDS = ['strangers', 'audit_log', 'audit_horizon']

/** Every row of every table that holds users' data, without what any request may move. */
export function storedRows({ data }: Pick<Panel, 'data'>, { except = [] as string[] } = {}): Record<string, unknown[]> {
  const database = new Database(join(data, 'ncp.db'), { readonly: true })
  try {
    const tables = database.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
    return Object.fromEntries(
      tables
        .map(({ name }) => name)
        .filter((name) => ![...RECORDS, ...except].includes(name) && !name.startsWith('sqlite_'))
        .map((name) => [name, database.query(`SELECT * FROM "${name}"`).all().map(withoutMoving)]),
    )
  } finally {
    database.close()
  }
}

function withoutMoving(row: unknown): object {
  return Object.fromEntries(Object.entries(row as object).filter(([column]) => !MOVING.has(column)))
}

/** Attempts in vain at an account, since the last that succeeded. */
export function failuresOf({ data }: Pick<Panel, 'data'>, userId: number): number | undefined {
  using database = new Database(join(data, 'ncp.db'), { readonly: true })
  return database.query<{ n: number }, [number]>('SELECT failed_attempts AS n FROM users WHERE id = ?').get(userId)?.n
}

/** As if so many guesses had been made before, from everywhere: making them would take a hash each. */
export function setFailures({ data }: Pick<Panel, 'data'>, userId: number, count: number): void {
  using database = new Database(join(data, 'ncp.db'))
  database.query('UPDATE users SET failed_attempts = ? WHERE id = ?').run(count, userId)
  database.query('UPDATE known_addresses SET failed_attempts = ? WHERE user_id = ?').run(count, userId)
}
