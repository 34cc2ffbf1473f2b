/** Whether the database answers, and is the one that this program knows: for the watchdog and for readiness. */
import { sql } from 'drizzle-orm'
import { AppError } from '../core/errors.ts'
import { migrations } from './sqlite/migrations.ts'
import { rowsOf } from './statements.ts'
import type { Store } from './store.ts'

/**
 * Resolves once a query has been answered and the turn to write has come.
 *
 * @throws Error of the database. Not while another process, such as the command line, keeps the lock: that passes, and
 * no restart would help
 */
export async function probe({ read, write }: Store): Promise<void> {
  await rowsOf(read, sql`SELECT count(*) FROM schema_migrations`)
  try {
    await write(async () => undefined)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
  }
}

/** Whether the schema is this program's: a newer one may have changed it in the meantime. */
export async function hasOurSchema({ read }: Pick<Store, 'read'>): Promise<boolean> {
  const applied = await rowsOf<{ name: string }>(read, sql`SELECT name FROM schema_migrations ORDER BY name`)
  return Bun.deepEquals(
    applied.map(({ name }) => name),
    migrations.map(({ name }) => name),
  )
}
