/** Whether the database responds and has the schema this program knows: for the watchdog and for readiness. */
import { sql } from 'drizzle-orm'
import { AppError } from '../core/errors.ts'
import { migrations } from './sqlite/migrations.ts'
import { rowsOf } from './statements.ts'
import type { Store } from './store.ts'

/**
 * Resolves once a query has been answered and a write has had its turn.
 *
 * @throws Error of the database. Not while another process, such as the command line, holds the lock: that passes, and
 * a restart would not help
 */
export async function probe({ read, write }: Store): Promise<void> {
  await rowsOf(read, sql`SELECT count(*) FROM schema_migrations`)
  try {
    await write(async () => undefined)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
  }
}

/** Whether the schema is this program's: a newer program may have migrated it since. */
export async function hasOurSchema({ read }: Pick<Store, 'read'>): Promise<boolean> {
  const applied = await rowsOf<{ name: string }>(read, sql`SELECT name FROM schema_migrations ORDER BY name`)
  return Bun.deepEquals(
    applied.map(({ name }) => name),
    migrations.map(({ name }) => name),
  )
}
