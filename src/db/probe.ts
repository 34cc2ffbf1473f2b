/** Whether the database answers: for the watchdog. */
import { sql } from 'drizzle-orm'
import { AppError } from '../core/errors.ts'
import type { Store } from './store.ts'

/**
 * Resolves once a query has been answered and the turn to write has come.
 *
 * @throws Error of the database. Not while another process, such as the command line, keeps the lock: that passes, and
 * no restart would help
 */
export async function probe({ read, write }: Store): Promise<void> {
  await read.run(sql`SELECT count(*) FROM schema_migrations`)
  try {
    await write(async () => undefined)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
  }
}
